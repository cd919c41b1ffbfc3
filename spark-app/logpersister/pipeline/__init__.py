"""Writes ranges as objects, on Spark's executors: read, encode, upload."""
