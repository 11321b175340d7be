"""Long-term memory: what is known of a user, with its sources, its topics and its history."""
