"""Sentences labelled by whether they ask to keep words off the record."""
