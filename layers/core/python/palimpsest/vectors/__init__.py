"""Vectors that callers store under ids of their own, in namespaces, and search by nearness and metadata."""
