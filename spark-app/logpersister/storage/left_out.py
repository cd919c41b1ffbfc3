"""Notes of ranges of which nothing is stored, because ``spec.keep`` or ``spec.types`` leaves out all of their records.

Backups have them of ranges without records, too: what is in no object of theirs must be told from a lost object.

A note is put before the offset moves over its range. So what is in no object and has no note was lost, also when Kafka
cannot tell any more. Name and content depend on range, records and revision only, as those of objects do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from logpersister.ranges import Range
from logpersister.storage.names import note_key, notes_prefix, range_file
from logpersister.storage.notes import Notes, written
from logpersister.storage.store import ObjectStore

_FOLDER: Final = "left-out"


@dataclass(frozen=True, slots=True)
class LeftOutRange:
    """One such range."""

    range: Range
    topic_id: str | None
    generation: int
    revision: str
    records: int
    """0 in a backup, where Kafka had none to deliver."""


_NOTES: Final = Notes(LeftOutRange, "a note of a range that is left out")


def note_left_out(store: ObjectStore, group: str, note: LeftOutRange, *, if_absent: bool = False) -> None:
    """Store a note; the same again replaces itself. Raises StorageError."""
    partition = note.range.partition
    file = f"{range_file(note.generation, partition.partition, note.range.start)}.json"
    key = note_key(store.prefix, group, _FOLDER, partition.topic, file)
    store.put_json(key, written(note), if_absent=if_absent)


def list_left_out(store: ObjectStore, group: str, topic: str) -> Iterator[LeftOutRange]:
    """Yield all notes of a topic. Raises StorageError."""
    return _NOTES.below(store, notes_prefix(store.prefix, group, _FOLDER, topic))
