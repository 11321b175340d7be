"""Cypher queries over users' graphs, by the embedded engine ladybug."""
