"""Reads what a sentence states: a value, an end or a correction. The words are data."""
