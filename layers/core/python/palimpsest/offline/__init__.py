"""Extraction and summaries with rules alone, in place of a model."""
