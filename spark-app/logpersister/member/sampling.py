"""Learns what one offset of a topic costs before anything is promised: one fetch, encoded, and thrown away."""

import pyarrow as pa

from logpersister.formats.base import Format, ObjectIdentity
from logpersister.pipeline.reader import KafkaReader
from logpersister.pipeline.splitting import by_path
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.records.paths import Layout

SAMPLE_BYTES = 1 << 20


class FormatSampler:
    """Samples with the real reader and the real format, so that compression is in the estimate."""

    def __init__(self, reader: KafkaReader, layout: Layout, file_format: Format) -> None:
        self._reader = reader
        self._layout = layout
        self._format = file_format

    def sample(self, partition: TopicPartition, start: Offset) -> tuple[int, int] | None:
        """Return offsets looked at and the bytes that they would be stored as; None when there was no record."""
        batch = self._reader.sample(partition, start, SAMPLE_BYTES)
        if batch.num_rows == 0:
            return None
        end = batch.column("offset")[-1].as_py() + 1
        range_ = Range(partition, start, end)
        parts = by_path(batch, self._layout.assign(batch))
        return end - start, sum(self._stored_bytes(ObjectIdentity(range_, path), part) for path, part in parts)

    def _stored_bytes(self, identity: ObjectIdentity, batch: pa.RecordBatch) -> int:
        encoder = self._format.encoder(identity)
        return sum(memoryview(piece).nbytes for piece in (*encoder.encode(batch), *encoder.finish()))
