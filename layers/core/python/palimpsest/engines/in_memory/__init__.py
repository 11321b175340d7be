"""Every port of storage, queues and time within one process: for tests, and for the library without any service."""
