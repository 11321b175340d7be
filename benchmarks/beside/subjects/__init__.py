"""The stores of conversations that are measured beside each other: each runs in an environment of
its own.
"""
