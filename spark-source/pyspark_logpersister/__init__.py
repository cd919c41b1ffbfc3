"""Reads backups of LogPersister: ``spark.read.format("logpersister").load("s3://bucket/prefix")``.

Spark finds `DefaultSource` by itself, because the name of this package begins with ``pyspark_``.
"""

from pyspark_logpersister.source import LogPersisterSource as DefaultSource

__all__ = ["DefaultSource"]
