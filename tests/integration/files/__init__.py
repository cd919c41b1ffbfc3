"""Files of our formats, written without Kafka and S3, before readers of other projects."""
