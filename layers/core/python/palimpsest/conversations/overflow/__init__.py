"""Overflow: selects the messages that leave a full window, and replaces them by a summary or
memories.
"""
