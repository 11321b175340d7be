"""The search index, which is derived from the tables."""
