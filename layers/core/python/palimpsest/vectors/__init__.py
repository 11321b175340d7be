"""Vectors that callers store."""
