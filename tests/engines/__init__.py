"""The real engines that tests run against, each set up from a package registry and started on
loopback.
"""
