"""Labelled sets for the memory benchmark: what one looks like, and what makes one unusable."""
