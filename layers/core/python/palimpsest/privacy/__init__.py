"""What may be known: secrets, and words that their speaker wants nobody to remember."""
