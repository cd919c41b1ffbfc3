"""LogPersister: copies Kafka topics into S3, every record exactly once."""

from importlib.metadata import version

__version__ = version("logpersister")
