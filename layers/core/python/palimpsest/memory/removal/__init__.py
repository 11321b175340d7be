"""Removal of memories: by a filter, with a session, message or user, or at their expiry."""
