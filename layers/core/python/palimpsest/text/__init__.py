"""Rules over plain text. They know nothing of conversations."""
