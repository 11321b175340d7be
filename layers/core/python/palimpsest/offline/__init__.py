"""Replaces a model: extracts memories and summarizes with rules alone."""
