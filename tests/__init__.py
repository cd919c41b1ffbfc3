"""Tests; `stack` starts the real Kafka and S3 servers that they use."""
