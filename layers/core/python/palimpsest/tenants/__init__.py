"""Tenants: who may call, the defaults of their sessions, and the facts that hold for all their users."""
