"""The blocks of memory: the only code that reads or fills long-term memory for a context."""
