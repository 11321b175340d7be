"""Sessions: conversations with their configuration."""
