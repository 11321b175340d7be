"""Blocks of memory: what each brings into a context."""
