"""Extraction: finding in conversations what is worth remembering, holding it against its source, and keeping it."""
