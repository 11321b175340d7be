"""The context: what a model sees next, the window and what is remembered beside it, within one
budget.
"""
