"""Blocks of memory: the parts of long-term memory that a context shows."""
