"""The edge of the queue, stream and scheduled functions: one record at a time, partial batch failure."""
