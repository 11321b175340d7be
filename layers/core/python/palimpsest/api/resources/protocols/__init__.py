"""Operations that answer in the words of others: MCP, and the REST API of mem0."""
