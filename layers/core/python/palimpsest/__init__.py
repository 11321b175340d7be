"""Agent memory as a service: contexts that always fit, over conversations that are never lost."""
