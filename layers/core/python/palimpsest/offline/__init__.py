"""What replaces a model: it extracts memories and summarizes with rules alone."""
