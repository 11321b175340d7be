"""Palimpsest within one process: what a program on one machine needs, and no function."""
