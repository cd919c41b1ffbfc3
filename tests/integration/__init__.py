"""Tests on real Kafka, MinIO and Spark."""
