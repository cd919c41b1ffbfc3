"""Values that are Avro: block, columns of its schemas, rows."""
