"""Export and import of what is stored."""
