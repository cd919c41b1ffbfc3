"""Format ``avro``: Avro's container files."""
