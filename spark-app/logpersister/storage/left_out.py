"""Notes of ranges of which nothing is stored, because ``spec.keep`` or ``spec.types`` leaves out all of their records.

Backups have them of ranges without records, too: what is in no object of theirs must be told from a lost object.

A note is put before the offset moves over its range. So what is in no object and has no note was lost, also when Kafka
cannot tell any more. Name and content depend on range, records and revision only, as those of objects do.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from logpersister.ranges import Range
from logpersister.storage.asking import ask_each
from logpersister.storage.names import left_out_key, left_out_prefix
from logpersister.storage.notes import parse_note, written
from logpersister.storage.store import ObjectStore


@dataclass(frozen=True, slots=True)
class LeftOutRange:
    """One such range."""

    range: Range
    topic_id: str | None
    generation: int
    revision: str
    """Revision that leaves the records out."""
    records: int
    """0 in a backup, where Kafka had none to deliver."""


def note_left_out(store: ObjectStore, group: str, note: LeftOutRange, *, if_absent: bool = False) -> None:
    """Store a note; the same again replaces itself. Raises StorageError."""
    key = left_out_key(store.prefix, group, note.range.partition, note.generation, note.range.start)
    store.put_json(key, written(note), if_absent=if_absent)


def list_left_out(store: ObjectStore, group: str, topic: str) -> Iterator[LeftOutRange]:
    """Yield all notes of a topic. Raises StorageError."""
    keys = (listed.key for listed in store.list_objects(left_out_prefix(store.prefix, group, topic)))
    for key, document in ask_each(lambda key: (key, store.get_json(key)), keys):
        if document is not None:
            yield parse_note(LeftOutRange, key, document, "a note of a range that is left out")
