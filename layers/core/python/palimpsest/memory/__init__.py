"""Long-term memory: records, topics and their history."""
