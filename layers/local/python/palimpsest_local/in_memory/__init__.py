"""Every store within one process: for tests, and for the library without a service."""
