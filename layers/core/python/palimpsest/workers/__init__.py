"""The entry points of the queue, stream and scheduled functions."""
