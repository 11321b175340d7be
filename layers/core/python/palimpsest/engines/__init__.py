"""One adapter per engine behind each port."""
