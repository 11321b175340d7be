"""The edge of the queue, stream and scheduled functions."""
