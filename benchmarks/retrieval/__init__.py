"""Benchmarks of how well memories are recalled, and of the cost of a recall as a memory grows."""
