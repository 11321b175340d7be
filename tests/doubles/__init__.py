"""Stand-ins for services of others, over real sockets."""
