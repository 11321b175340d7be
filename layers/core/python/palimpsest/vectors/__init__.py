"""The vectors that callers store."""
