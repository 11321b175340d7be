"""Cypher over a user's graph in memory, by the embedded engine ladybug, in a process of its own."""
