"""mem0's REST API."""
