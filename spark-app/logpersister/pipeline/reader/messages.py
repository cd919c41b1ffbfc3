"""Messages between the reader and brokers, as plain values without a client library."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from logpersister.pipeline.reader.decode import Aborted
from logpersister.pipeline.reader.errors import UNKNOWN_TOPIC_OR_PARTITION
from logpersister.ranges import Offset, TopicPartition


@dataclass(frozen=True, slots=True)
class Location:
    """Location of a partition, as metadata say."""

    leader: int | None
    """Node id; None while an election is going on."""
    leader_epoch: int = -1
    """-1: unknown, brokers do not check it then."""
    topic_id: UUID | None = None
    """None: the brokers are older than topic ids (Kafka 2.8)."""
    replicas: frozenset[int] = frozenset()
    error: int = 0
    """Error code of the topic or the partition."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Locations of the partitions of some topics, as of `time`."""

    locations: Mapping[TopicPartition, Location]
    topic_errors: Mapping[str, int]
    time: float
    """Time of the answer, on the monotonic clock, in seconds."""

    def of(self, partition: TopicPartition) -> Location:
        found = self.locations.get(partition)
        if found is None:
            error = self.topic_errors.get(partition.topic, UNKNOWN_TOPIC_OR_PARTITION)
            return Location(leader=None, error=error)
        return found


@dataclass(frozen=True, slots=True)
class FetchPart:
    """One partition of a fetch request."""

    partition: TopicPartition
    topic_id: UUID | None
    leader_epoch: int
    offset: Offset
    last_epoch: int
    """Leader epoch of the record batch before `offset`, -1 when unknown. Brokers compare it with their own log and
    so find out that what we read was truncated meanwhile (KIP-320)."""
    max_bytes: int


@dataclass(frozen=True, slots=True)
class FetchCall:
    """One full fetch request (no fetch session).

    The order of `parts` matters: the first one that has any data gets a whole record batch even when it exceeds the
    limits (KIP-74).
    """

    node: int
    parts: tuple[FetchPart, ...]
    max_bytes: int
    max_wait: float
    read_committed: bool
    rack: str = ""


@dataclass(frozen=True, slots=True)
class PartitionData:
    """The answer for one partition."""

    partition: TopicPartition
    error: int
    high_watermark: Offset
    last_stable_offset: Offset
    log_start: Offset
    records: memoryview
    """A run of record batches, the last one may be cut off."""
    aborted: tuple[Aborted, ...] = ()
    preferred_replica: int = -1
    diverging_end: Offset = -1
    """When >= 0: the log was truncated, the broker's agrees with ours only up to here."""


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """The answer to a `FetchCall`."""

    throttle: float
    """Seconds during which the broker will not answer again."""
    error: int
    parts: Mapping[TopicPartition, PartitionData]
    size: int
    """Bytes of the whole response, all of them held by the views in `parts`."""


@dataclass(frozen=True, slots=True)
class LogOffsets:
    """The offsets that a leader has: ``[start, end)``; ``local_start`` without what is only in tiered storage."""

    start: Offset
    end: Offset
    local_start: Offset


class ClusterError(Exception):
    """A request to a broker came to nothing."""

    def __init__(self, reason: str, message: str, *, unauthorized: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        """A short word for the statistics: ``disconnected``, ``timed-out``…"""
        self.unauthorized = unauthorized
        """The login was refused: trying again does not help."""


@dataclass(slots=True)
class Stats:
    """Counters of a reader since it was made."""

    fetches: int = 0
    bytes: int = 0
    """Bytes of responses, as they came over the wire."""
    wasted_bytes: int = 0
    """Fetched bytes that were not used: behind the end of a range, cut off, or dropped."""
    throttle_ms: int = 0
    """Time for which brokers asked us to be silent."""
    retries: dict[str, int] = field(default_factory=dict)
    """Reason to number."""
    peak_buffer_bytes: int = 0
    """The most that was buffered and asked for at once, in bytes."""

    def retried(self, reason: str) -> None:
        self.retries[reason] = self.retries.get(reason, 0) + 1


class Cluster(Protocol):
    """What is needed of `connection.KafkaCluster`. Futures fail with `ClusterError` only."""

    def locate(self, topics: Sequence[str]) -> Future[Topology]: ...
    def fetch(self, call: FetchCall) -> Future[FetchAnswer]: ...
    def log_offsets(self, partition: TopicPartition, location: Location) -> Future[LogOffsets]: ...
