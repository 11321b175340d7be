"""What is removed from memory: by topic, by filter, with a session, with a user, and when its time has passed."""
