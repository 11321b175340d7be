"""The search index: a disposable projection of the tables, kept up to date and built anew."""
