"""The HTTP API: its operations, their answers and problems, and the application that serves
them.
"""
