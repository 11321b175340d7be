"""Rules over plain text. Nothing here knows conversations."""
