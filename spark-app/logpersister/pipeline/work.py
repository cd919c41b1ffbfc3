"""Messages between driver and task. Small, picklable, free of secrets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from logpersister.backup.part import BackupPart
from logpersister.pipeline.source import ReplaySource
from logpersister.ranges import NewestEvent, Offset, Range
from logpersister.report.facts import RangeWritten


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

    backup: BackupPart | None = None
    """What a backup has of the range, where records are not read from Kafka alone."""

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
    source: ReplaySource | None = None
    """Where records come from, if not from Kafka alone."""

    @property
    def work(self) -> tuple[RangeWork, ...]:
        return tuple(work for part in self.parts for work in part.work)


@dataclass(frozen=True, slots=True)
class WorkError:
    """Why a range was not written. It never fails its neighbours.

    Whatever it is, the range is tried again, with backoff: it is promised, and a person may have mended the cause.
    """

    kind: str
    """``kafka``, ``corrupt``, ``data-lost``, ``hole``, ``unauthorized``, ``unknown-topic``, ``topic-recreated``, a kind
    of the storage errors, ``registry``, ``table``, ``other-rules``, ``too-many-refused``, ``encode``, or ``task`` when
    the task itself was lost."""
    message: str
    upload: bool = False
    """Whether the bucket failed it."""
    log_start: Offset | None = None


@dataclass(frozen=True, slots=True)
class RangeOutcome(RangeWritten):
    """Outcome of one range: what it became (nothing when it held no records), or an error."""

    retries: Mapping[str, int] = field(default_factory=dict)
    """Requests that were tried again, by reason: all those of the worker since its last outcome."""
    error: WorkError | None = None
    newest: NewestEvent | None = None
    """Newest event time where folders are finished by the times of a field; None: no such field, or no such time."""
