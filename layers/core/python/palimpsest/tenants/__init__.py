"""Tenants: API keys, settings and static facts."""
