"""Usage: what a tenant's users and models use, counted once where it happens, and summed up by day, user or tenant."""
