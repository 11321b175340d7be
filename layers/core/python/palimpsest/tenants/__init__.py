"""The tenants: API keys, settings and static facts."""
