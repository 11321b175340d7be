"""Sentences of our conversations, labelled by whether they mean something later."""
