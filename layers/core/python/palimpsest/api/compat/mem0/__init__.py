"""The REST API of mem0."""
