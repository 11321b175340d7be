"""What sentences mean for memories: values, ends and corrections, by words that are data."""
