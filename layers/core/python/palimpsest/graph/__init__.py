"""The knowledge graph of a user: entities and the relationships between them, read, changed and queried."""
