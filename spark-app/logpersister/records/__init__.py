"""What happens to records between Kafka and a file: partition paths (parsers later). Pure."""
