"""The messages of a session, as a resource."""
