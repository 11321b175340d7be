"""All stores within one process, for tests and for programs that use the library without a
service.
"""
