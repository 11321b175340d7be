"""What a turn costs its user: the tokens of consecutive contexts, and how many a prompt cache serves."""
