"""The logical parts that the stack composes."""
