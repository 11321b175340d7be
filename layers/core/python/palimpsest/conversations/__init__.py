"""Conversations: messages, sessions, windows and overflow."""
