"""Facts about ranges, as the metrics and the status board take them.

The pipeline fills these in once, so that a counter and the status document can never disagree about one range.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from logpersister.ranges import Offset, Range, TopicPartition


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of the reporting member; constant for the life of a process."""

    group: str
    generation: int
    revision: str
    member: str
    version: str


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """One object that is durable in the bucket."""

    key: str
    bytes: int
    """Stored bytes, so compressed."""
    records: int


@dataclass(frozen=True, slots=True)
class Quarantined:
    """The records of a range that the parser refused. They are stored, too, in an object of their own."""

    key: str
    records: int
    first: Offset
    reason: str
    """Why the first one was refused; never has anything of its value."""


LateTo = Literal["append", "folder", "quarantine"]
"""Where late records went, in the words of ``spec.finish.late``."""


@dataclass(frozen=True, slots=True)
class LateRecords:
    """Records that came when their folder was finished."""

    records: int
    to: LateTo


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """Numbers of one type (``spec.types``)."""

    records: int = 0
    """Stored records, those in quarantine included."""
    bytes: int = 0
    """Their keys and values, decompressed."""
    quarantined: int = 0
    """Stored records that are in quarantine; late ones do not count."""
    dropped: int = 0
    newest: int | None = None
    """When the newest record happened that is stored in the type's folder, in milliseconds since the epoch; times in
    the future do not count. None: none has a time."""

    def plus(self, other: "TypeCounts") -> "TypeCounts":
        times = [time for time in (self.newest, other.newest) if time is not None]
        return TypeCounts(
            self.records + other.records,
            self.bytes + other.bytes,
            self.quarantined + other.quarantined,
            self.dropped + other.dropped,
            max(times, default=None),
        )


@dataclass(frozen=True, slots=True)
class RangeWritten:
    """What a range became. Reports take it once its end is committed: from then on nobody writes it again."""

    range: Range
    objects: tuple[WrittenObject, ...] = ()
    """Empty when the range held no records (compaction, transaction markers, aborted records)."""
    payload_bytes: int = 0
    """Bytes of keys and values as read from Kafka, decompressed."""
    seconds: float = 0.0
    """Seconds from the first fetch to the last durable byte, without the commit."""
    quarantined: Quarantined | None = None
    """None: the parser refused nothing."""
    unexplained: int = 0
    """Offsets at its end without records, for which no record batch says that there are none."""
    dropped: int = 0
    """Records that are in none of the objects, because ``spec.keep`` or ``spec.types`` leaves them out."""
    types: Mapping[str, TypeCounts] = field(default_factory=dict)
    """Counts by the label of the type; empty without ``spec.types``."""
    adjusted: Mapping[str, int] = field(default_factory=dict)
    """Values that the parser has adjusted, by the reason why it would have refused their records else."""
    late: LateRecords | None = None
    """Late records, which stand apart because their folder was finished; None: there are none."""

    @property
    def records(self) -> int:
        return sum(written.records for written in self.objects)

    @property
    def bytes(self) -> int:
        return sum(written.bytes for written in self.objects)


@dataclass(frozen=True, slots=True)
class RangeFailed:
    """One attempt of a range failed; its intent is still pending and will be executed again."""

    range: Range
    kind: str
    """A short stable word: the ``kind`` of the reader's or the storage's error, `commit`, `encode`, or `task`."""
    message: str
    upload: bool = False
    """Whether the bucket refused it. Those count as upload failures too, which have their own alert and condition."""


@dataclass(frozen=True, slots=True)
class BucketFailed:
    """A request about a document below ``_logpersister/``, or a list of objects, that the bucket failed.

    No range can be named, and none may go on without it. Counts as an upload failure.
    """

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class HeldPartition:
    """A partition on which the member does nothing until someone decides; the others go on."""

    partition: TopicPartition
    reason: str
    """A short stable word, for example ``data-lost``; docs/operations.md says for each what to do."""
    message: str


@dataclass(frozen=True, slots=True)
class UnreadablePartition:
    """A partition that Kafka does not let us read now: it has no leader, for example. All others go on."""

    partition: TopicPartition
    message: str
    since: float
    """Monotonic seconds."""


@dataclass(frozen=True, slots=True)
class PendingIntent:
    """A promise in Kafka that is not yet kept: ``[start, ends[0])``, ``[ends[0], ends[1])`` and so on."""

    partition: TopicPartition
    start: Offset
    ends: tuple[Offset, ...]
    revision: str
    generation: int


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A Spark job that runs, as it was seen last. Nobody sees inside of a task: that of a large range is silent."""

    started_at: datetime
    progress_at: datetime
    """When a task of it was last seen to have ended; before the first one, when the job started."""
    tasks: int
    tasks_done: int
    ranges: int
    estimated_bytes: int
    """What its ranges are thought to become as objects: how long it may take depends on that."""
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class DataLoss:
    """Offsets ``[start, end)`` that Kafka had deleted before the group stored them."""

    partition: TopicPartition
    start: Offset
    end: Offset
    skipped: bool
    """True: ``onDataLoss: skip`` went on behind it. False: the partition is held."""

    @property
    def offsets(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """Offsets of a replay. Processes that share one have partitions of their own: the sum of `stored` counts."""

    offsets: int
    """All that are stored again, by whomever."""
    stored: int
    """Those of this member's partitions that are stored and committed."""
