"""The memories of a user, as a resource."""
