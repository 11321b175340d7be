"""Benchmarks: recall on labelled conversations, cost, growth and sizes."""
