"""The sessions, as a resource."""
