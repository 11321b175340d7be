"""The use cases over any stores and models. HTTP, MCP and the library call them."""
