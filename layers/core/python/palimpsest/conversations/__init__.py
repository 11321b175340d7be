"""The conversations: messages, sessions, windows and the overflow of a full window."""
