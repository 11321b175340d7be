"""The knowledge graph of a user."""
