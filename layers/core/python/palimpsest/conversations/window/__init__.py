"""The window: the messages of a session that a model sees next."""
