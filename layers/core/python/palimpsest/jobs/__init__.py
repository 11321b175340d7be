"""Jobs: the one kind of work that may outlast a call, how its steps go on, and how it is tried again."""
