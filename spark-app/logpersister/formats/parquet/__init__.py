"""Format ``parquet``: Parquet."""
