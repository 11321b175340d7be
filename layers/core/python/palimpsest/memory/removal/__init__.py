"""Removes memories: by a filter, with a session, message or user, or when they expire."""
