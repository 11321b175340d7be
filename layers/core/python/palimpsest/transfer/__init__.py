"""The export and import of stored data."""
