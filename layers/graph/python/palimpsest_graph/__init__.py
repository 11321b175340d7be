"""Queries in Cypher over a user's graph: how they are read, and the engine that answers them."""
