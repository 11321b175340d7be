"""Conversations: messages in sessions, appended once and in order, within a window that always fits."""
