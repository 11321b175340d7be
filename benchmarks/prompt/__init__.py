"""The cost of a turn for its user: the tokens of consecutive contexts, and how many of them a
prompt cache serves.
"""
