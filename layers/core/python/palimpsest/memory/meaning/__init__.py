"""What sentences mean for memories: values of topics, ends and corrections, by words that are data."""
