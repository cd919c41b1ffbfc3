"""Positions of the two groups, as Kafka has them."""

import threading
from collections.abc import Collection, Iterable, Mapping

from logpersister.group.offsets import OffsetReader
from logpersister.plan.intents import CommittedOffset, UnknownMetadataError
from logpersister.ranges import Offset, TopicPartition


class GroupPositions:
    """The committed offsets of one group; for any number of threads."""

    def __init__(self, offsets: OffsetReader) -> None:
        self._offsets = offsets
        self._lock = threading.Lock()

    def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, CommittedOffset | None]:
        """Return the committed offsets; None where there is none. Partitions that Kafka does not tell of are missing.

        Raises UnknownMetadataError, KafkaError.
        """
        with self._lock:
            found = self._offsets.committed(partitions)
        positions: dict[TopicPartition, CommittedOffset | None] = {}
        for partition, committed in found.items():
            if isinstance(committed, UnknownMetadataError):
                raise UnknownMetadataError(f"{partition}: {committed}")
            positions[partition] = committed
        return positions

    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Offset]:
        """Return where the partitions end now; those that cannot be read are missing."""
        with self._lock:
            return self._offsets.ends(partitions).values

    def compacted(self, topic: str) -> bool | None:
        """Whether Kafka compacts the topic; None when it does not tell."""
        with self._lock:
            return self._offsets.compacted(topic)

    def close(self) -> None:
        self._offsets.close()
