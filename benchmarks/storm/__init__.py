"""A storm: conversations of many users while processes are killed, the model misbehaves, tables
throttle and the index is away.
"""
