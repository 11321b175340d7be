"""One adapter of each port for each engine."""
