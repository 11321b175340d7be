"""The HTTP edge: routes by resource, who is calling, and how errors are said."""
