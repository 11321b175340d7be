"""The search index: a projection of the tables."""
