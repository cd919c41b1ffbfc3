"""Learns what one offset of a topic costs before anything is promised: one fetch, encoded, and thrown away."""

from logpersister.formats.base import Format, ObjectIdentity
from logpersister.pipeline.reader import KafkaReader
from logpersister.ranges import Offset, Range, TopicPartition

SAMPLE_BYTES = 1 << 20


class FormatSampler:
    """Samples with the real reader and the real format, so that compression is in the estimate."""

    def __init__(self, reader: KafkaReader, file_format: Format) -> None:
        self._reader = reader
        self._format = file_format

    def sample(self, partition: TopicPartition, start: Offset) -> tuple[int, int] | None:
        """Return offsets looked at and the bytes that they would be stored as; None when there was no record."""
        batch = self._reader.sample(partition, start, SAMPLE_BYTES)
        if batch.num_rows == 0:
            return None
        end = batch.column("offset")[-1].as_py() + 1
        encoder = self._format.encoder(ObjectIdentity(Range(partition, start, end), ""))
        pieces = [*encoder.encode(batch), *encoder.finish()]
        return end - start, sum(memoryview(piece).nbytes for piece in pieces)
