"""The operations by resource, with their bodies and answers."""
