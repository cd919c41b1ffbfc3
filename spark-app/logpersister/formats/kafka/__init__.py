"""Format ``kafka``: Record batches of Kafka."""
