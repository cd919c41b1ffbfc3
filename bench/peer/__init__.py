"""Other programs that store JSON from Kafka as Parquet, each in a process of its own."""
