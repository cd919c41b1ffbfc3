"""Records between Kafka and a file: parsers, partition paths, checksums. Pure."""
