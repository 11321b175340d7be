"""Decides what new statements do to the known ones, before they are stored."""
