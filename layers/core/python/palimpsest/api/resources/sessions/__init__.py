"""Sessions, as a resource."""
