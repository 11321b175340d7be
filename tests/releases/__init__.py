"""Data that each release has written, and the reader of it."""
