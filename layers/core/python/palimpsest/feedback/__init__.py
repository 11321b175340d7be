"""Feedback on recalls: which memories were useful or wrong, and what was missing."""
