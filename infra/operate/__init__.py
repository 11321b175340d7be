"""Commands that operate a deployed stack, or the local one: keys, redrive, reindex."""
