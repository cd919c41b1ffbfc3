"""From ranges to objects, on Spark's executors: read, encode, upload."""
