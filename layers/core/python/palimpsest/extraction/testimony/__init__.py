"""Which words of a message say what is true of the speaker, and which are only material."""
