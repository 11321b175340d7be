"""The context of a session, as a resource."""
