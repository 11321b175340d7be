"""Decides which words may be remembered: no secrets, and no words that their speaker put off the
record.
"""
