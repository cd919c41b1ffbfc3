"""What happens to records between Kafka and a file: parsers, partition paths, checksums. Pure."""
