"""What each release has written, and how the next one reads it."""
