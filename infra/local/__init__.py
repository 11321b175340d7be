"""The whole service on this machine. The synthesized stack is deployed to a local AWS on
loopback.
"""
