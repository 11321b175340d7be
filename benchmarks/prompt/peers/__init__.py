"""Other libraries, each in an environment of its own: the contexts that they make of the same
conversation.
"""
