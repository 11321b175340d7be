"""The adapters to storage, search and AWS engines. Each implements a port of the library."""
