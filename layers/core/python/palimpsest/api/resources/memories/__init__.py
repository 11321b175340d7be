"""A user's memories, as a resource."""
