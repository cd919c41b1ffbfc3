"""Notes that all records of a range are left out (`storage.left_out`)."""

from dataclasses import dataclass

from logpersister.pipeline.range_results import RangeResults
from logpersister.storage.left_out import LeftOutRange, note_left_out
from logpersister.storage.store import ObjectStore


@dataclass(frozen=True, slots=True)
class LeftOutNotes:
    """The notes of the ranges of a revision."""

    store: ObjectStore
    group: str
    revision: str

    def leave(self, writer: RangeResults) -> None:
        """Put the note of a range of which nothing is stored. Raises StorageError."""
        work = writer.work
        note = LeftOutRange(work.range, work.topic_id, work.generation, self.revision, writer.counts.dropped)
        # Of a range that Kafka has begun to delete, an earlier execution may have known more records.
        note_left_out(self.store, self.group, note, if_absent=work.partly_lost)
