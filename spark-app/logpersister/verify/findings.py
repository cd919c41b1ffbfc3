"""What a verification can find. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from logpersister.ranges import Offset, TopicPartition


class Kind(StrEnum):
    """Kinds of findings; docs/commands.md says what each means and what to do."""

    MISSING = "missing"
    """Kafka has records at offsets before the committed one, and no object has them."""
    UNKNOWN = "unknown"
    """No object, and Kafka cannot tell (any more) whether there were records."""
    OVERLAP = "overlap"
    """Offsets that are in two objects of one generation."""
    BEYOND_COMMIT = "beyond-commit"
    """An object behind the committed offset that no pending intent promises."""
    MISNAMED = "misnamed"
    """An object whose name and metadata tell of different ranges: it was copied or renamed."""
    WRONG_FACTS = "wrong-facts"
    """Facts that cannot be true."""
    WRONG_CONTENT = "wrong-content"
    """An object that does not hold the records that it should (deep)."""
    UNREADABLE = "unreadable"
    """Objects or records that could not be read for a comparison (deep)."""
    TWICE_IN_TABLE = "twice-in-table"
    """A file that is among the live files of the table more than once (deep)."""
    NOT_IN_TABLE = "not-in-table"
    """Rows that the table should have, by the offsets in its snapshots, and has not (deep)."""
    NOT_COPIED = "not-copied"
    """An archive of a finished folder that a copy of the store lacks, or has otherwise."""
    DAMAGED = "damaged"
    """An object of ours whose facts are not whole, or whose facts document is gone."""
    FOREIGN = "foreign"
    """An object under our names that another group or program has written."""
    OTHER_TOPIC = "other-topic"
    """An object of a topic of the same name that was deleted since."""
    NO_RECORD = "no-record"
    """No object, and Kafka has no record there either: compaction, aborted transactions, markers."""
    LEFT_OUT = "left-out"
    """No object, because ``spec.keep`` or ``spec.types`` leaves out the records there: a member has noted it, or Kafka
    has them and the manifest leaves them out."""
    UNEXPLAINED = "unexplained"
    """No record batch explains why there is no record: Kafka only says nothing, now or when the range was stored."""
    NOT_COMPARED = "not-compared"
    """Kafka has not all records of an object any more (deep)."""
    NOT_APPENDED = "not-appended"
    """An object whose receipt waits for the next snapshot of the table (deep)."""
    NOT_REGISTERED = "not-registered"
    """A folder with objects that is no partition of the Hive table."""
    WITHOUT_OBJECTS = "without-objects"
    """A partition of the Hive table whose folder has no objects."""
    DELETED = "deleted"
    """Offsets that somebody has deleted on purpose (``logpersister delete``), or an object of them that is left."""
    LOST = "lost"
    """Offsets that a member has recorded as deleted by Kafka before they were stored."""
    SKIPPED = "skipped"
    """Offsets that a member has recorded as skipped: somebody had set the group's offset forward."""
    REPLAY = "replay"
    """An object in quarantine whose records were replayed, or one of a replay that is not finished."""
    NOT_BEGUN = "not-begun"
    """Kafka has records, and the group has neither committed nor stored anything."""
    UNCOMMITTED = "uncommitted"
    """Objects, but no committed offset that would tell how far they should reach."""


PROBLEMS = frozenset(
    {
        Kind.MISSING,
        Kind.UNKNOWN,
        Kind.OVERLAP,
        Kind.BEYOND_COMMIT,
        Kind.MISNAMED,
        Kind.WRONG_FACTS,
        Kind.WRONG_CONTENT,
        Kind.UNREADABLE,
        Kind.DAMAGED,
        Kind.TWICE_IN_TABLE,
        Kind.NOT_IN_TABLE,
        Kind.NOT_COPIED,
    }
)
"""What contradicts the promise, or leaves it without proof. All other kinds are notes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found, in one partition."""

    kind: Kind
    partition: TopicPartition
    start: Offset
    end: Offset
    """Offsets ``[start, end)`` that it concerns."""
    message: str
    key: str | None = None
    generation: int | None = None

    @property
    def is_problem(self) -> bool:
        return self.kind in PROBLEMS

    def __str__(self) -> str:
        where = f"{self.partition} [{self.start},{self.end})"
        return f"{self.kind}: {where}: {self.message}" + (f": {self.key}" if self.key else "")
