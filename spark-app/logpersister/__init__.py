"""LogPersister: copies Kafka topics into S3, every record exactly once."""

__version__ = "0.1.0"
