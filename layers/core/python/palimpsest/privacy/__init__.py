"""Decides which words may be remembered. Secrets may not be remembered, and neither may words that
their speaker put off the record.
"""
