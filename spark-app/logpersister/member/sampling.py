"""Learns what one offset of a topic costs before anything is promised: one fetch, encoded, and thrown away."""

import threading
from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from logpersister.compiled.formats import TopicFormats
from logpersister.compiled.topic import CompiledTopic
from logpersister.formats.base import ObjectIdentity
from logpersister.manifest import LogPersister
from logpersister.pipeline.splitting import by_path
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.values.reading.writers import Writers

SAMPLE_BYTES = 1 << 20


class Sampling(Protocol):
    """`pipeline.reader.KafkaReader`, as far as it is needed here."""

    def sample(self, partition: TopicPartition, start: Offset, max_bytes: int) -> pa.RecordBatch: ...
    def sample_verbatim(self, partition: TopicPartition, start: Offset, max_bytes: int) -> tuple[int, int] | None: ...


class FormatSampler:
    """Samples with the real reader and the real format, so that compression is in the estimate. Thread-safe."""

    def __init__(
        self,
        reader: Sampling,
        resource_of: Callable[[str], LogPersister],
        writers_of: Callable[[LogPersister], Writers | None],
    ) -> None:
        """Sample nothing yet.

        Args:
            resource_of: returns by topic the manifest, with columns. What it raises goes to who asks for a sample.
            writers_of: returns by which schemas values of a manifest were written; None: its parser needs none.
        """
        self._reader = reader
        self._reads = threading.Lock()
        self._resource_of = resource_of
        self._writers_of = writers_of

    def sample(self, partition: TopicPartition, start: Offset) -> tuple[int, int] | None:
        resource = self._resource_of(partition.topic)
        spec = resource.spec
        with self._reads:
            if spec.output.format == "kafka":
                return self._reader.sample_verbatim(partition, start, SAMPLE_BYTES)
            batch = self._reader.sample(partition, start, SAMPLE_BYTES)
        if batch.num_rows == 0:
            return None
        topic = CompiledTopic(spec, lambda one: self._writers_of(resource.model_copy(update={"spec": one})))
        end = batch.column("offset")[-1].as_py() + 1
        range_ = Range(partition, start, end)
        parts = by_path(batch, topic.layout)
        stored = sum(_stored_bytes(topic.formats, ObjectIdentity(range_, path), part) for path, part in parts)
        return end - start, stored


def _stored_bytes(formats: TopicFormats, identity: ObjectIdentity, batch: pa.RecordBatch) -> int:
    encoder = formats.encoder(identity)
    return sum(memoryview(piece).nbytes for piece in (*encoder.encode(batch), *encoder.finish()))
