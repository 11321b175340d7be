"""Models that run within the process, without a server and without a key."""
