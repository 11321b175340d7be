"""Other libraries, each in an environment of its own, with the contexts that they make from the
same conversation.
"""
