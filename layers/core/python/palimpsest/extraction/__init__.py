"""Extraction: finds in conversations what is worth remembering."""
