"""The context: the messages that a model sees next. It joins the window and memories within one
budget.
"""
