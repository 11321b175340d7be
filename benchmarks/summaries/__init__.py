"""The summaries benchmark: how many answers are still in a context after their turns have left its
window.
"""
