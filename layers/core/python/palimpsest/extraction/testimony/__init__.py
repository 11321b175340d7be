"""Separates the words of a message in which the speaker states something true (testimony) from
material.
"""
