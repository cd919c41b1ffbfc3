"""Members as processes, and what stands in Kafka and in the bucket, seen by code that shares nothing with them."""
