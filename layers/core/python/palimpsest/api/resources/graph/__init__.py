"""The knowledge graph of a user, as a resource."""
