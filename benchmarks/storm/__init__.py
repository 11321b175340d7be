"""A storm: many users hold conversations while processes are killed, the model misbehaves, tables
throttle, and the index can't be opened.
"""
