"""What the product does, one verb a file: decisions from `domain`, effects through `ports`."""
