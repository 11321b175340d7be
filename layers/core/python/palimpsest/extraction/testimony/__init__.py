"""Decides which words of a message state something true of the speaker (testimony), and which are
only material.
"""
