"""Gets stored objects out of the bucket, into a directory: what `logpersister retrieve` does."""
