"""The logical parts of which the stack consists."""
