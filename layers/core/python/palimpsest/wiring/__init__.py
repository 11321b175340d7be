"""The composition root: builds the use cases from settings."""
