"""*Ranges in, Arrow batches out*: reads exactly the offsets that were planned (docs/design/reader.md)."""

from logpersister.pipeline.reader.errors import ErrorKind, RangeReadError
from logpersister.pipeline.reader.fetch import ReadRequest
from logpersister.pipeline.reader.messages import Stats
from logpersister.pipeline.reader.reader import KafkaReader, RangeRead
from logpersister.pipeline.reader.settings import ReaderSettings

__all__ = ["ErrorKind", "KafkaReader", "RangeRead", "RangeReadError", "ReadRequest", "ReaderSettings", "Stats"]
