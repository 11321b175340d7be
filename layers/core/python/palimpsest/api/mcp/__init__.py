"""A user's memory as a server of the Model Context Protocol (MCP)."""
