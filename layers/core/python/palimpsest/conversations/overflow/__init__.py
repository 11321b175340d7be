"""The overflow of a full window. It selects the messages that leave the window, and replaces them
by a summary or memories.
"""
