"""Reads conversations from exports of chat products and from text files."""
