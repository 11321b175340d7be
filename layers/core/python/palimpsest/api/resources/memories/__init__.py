"""Memories: what is remembered of a user."""
