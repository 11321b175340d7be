"""Jobs: work that may outlast a call."""
