"""Format ``archive``: tar archives with a file for each record."""
