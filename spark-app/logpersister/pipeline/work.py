"""Messages between driver and task. Small, picklable, free of secrets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from logpersister.ranges import NewestEvent, Offset, Range
from logpersister.report.facts import LateRecords, Quarantined, TypeCounts


@dataclass(frozen=True, slots=True)
class RangeWork:
    """A promised range, to be written as its intent says."""

    range: Range
    topic_id: str | None
    generation: int
    estimated_bytes: int
    """Stored bytes; a hint for packing requests."""
    read_from: Offset
    """The range's start, or the log start when Kafka has lost the records before it (``onDataLoss: skip``)."""
    again: bool = False
    """Whether the range may have been executed before, so that unfinished uploads of its objects may lie around."""
    hold_above: int | None = None
    """The percentage of its records that may go to quarantine; None: any. That of the topic in the manifest of who
    executes it, not of the revision: it says whether the range is stored, never how, so raising it releases a hold."""
    horizon: int | None = None
    """Watermark by its promise (`Intent.horizon`): records of folders that ended by then are late."""

    @property
    def partly_lost(self) -> bool:
        """Whether records of the range are gone. What an earlier execution stored is then the better copy."""
        return self.read_from > self.range.start


@dataclass(frozen=True, slots=True)
class RevisionWork:
    """Ranges of one revision, to be written one after the other."""

    revision: str
    document: Mapping[str, Any]
    """The revision's snapshot: the ranges are written under it, whatever this member's own manifest says."""
    work: tuple[RangeWork, ...]


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Work of one Spark task. Ranges of several revisions share a task, as small topics of different shape do."""

    group: str
    parts: tuple[RevisionWork, ...]
    """One for each revision."""

    @property
    def work(self) -> tuple[RangeWork, ...]:
        return tuple(work for part in self.parts for work in part.work)


@dataclass(frozen=True, slots=True)
class ObjectWritten:
    """An object that is durable in the bucket."""

    key: str
    bytes: int
    records: int


@dataclass(frozen=True, slots=True)
class WorkError:
    """Why a range was not written. It never fails its neighbours.

    Whatever it is, the range is tried again, with backoff: it is promised, and a person may have mended the cause.
    """

    kind: str
    """``kafka``, ``corrupt``, ``data-lost``, ``unauthorized``, ``unknown-topic``, ``topic-recreated``, a kind of the
    storage errors, ``registry``, ``table``, ``other-rules``, ``too-many-refused``, ``encode``, or ``task`` when the
    task itself was lost."""
    message: str
    upload: bool = False
    """Whether the bucket failed it."""
    log_start: Offset | None = None


@dataclass(frozen=True, slots=True)
class RangeOutcome:
    """Outcome of one range: its objects (none when it held no records), or an error."""

    range: Range
    objects: tuple[ObjectWritten, ...] = ()
    payload_bytes: int = 0
    """Keys and values as Kafka delivered them, decompressed."""
    seconds: float = 0.0
    retries: Mapping[str, int] = field(default_factory=dict)
    """Requests that were tried again, by reason: all those of the worker since its last outcome."""
    error: WorkError | None = None
    quarantined: Quarantined | None = None
    """The records of it that the parser refused; they are in one of the objects."""
    unexplained: int = 0
    """Offsets at its end without records of which brokers only said nothing (`reader.RangeRead`)."""
    dropped: int = 0
    """Records that are in none of the objects, because ``spec.keep`` or ``spec.types`` leaves them out."""
    types: Mapping[str, TypeCounts] = field(default_factory=dict)
    """Counts by type (`TypesSpec.labels`); empty without ``spec.types``."""
    adjusted: Mapping[str, int] = field(default_factory=dict)
    """Values in its records that the parser has adjusted, by the reason why it would have refused them else."""
    late: LateRecords | None = None
    """Late records, which stand apart because their folder was finished; None: none came late."""
    newest: NewestEvent | None = None
    """Newest event time where folders are finished by the times of a field; None: no such field, or no such time."""

    @property
    def stored_bytes(self) -> int:
        return sum(written.bytes for written in self.objects)

    @property
    def records(self) -> int:
        return sum(written.records for written in self.objects)
