"""Palimpsest within one process: everything that a program on one machine needs, and no
function.
"""
