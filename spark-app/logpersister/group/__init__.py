"""The Kafka consumer group: membership with its fencing, and where the offsets are."""
