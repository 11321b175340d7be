"""The knowledge graph of a user over HTTP."""
