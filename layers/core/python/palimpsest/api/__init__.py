"""The HTTP edge: operations by resource, the caller, and errors as problems."""
