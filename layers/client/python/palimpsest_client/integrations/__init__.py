"""Memory protocols of agent frameworks over this client. Each module needs its framework."""
