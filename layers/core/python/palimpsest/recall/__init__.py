"""Recall: what is remembered that answers a question, found, read from the tables, ranked and cut to size."""
