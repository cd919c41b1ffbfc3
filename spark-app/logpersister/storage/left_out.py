"""Notes of ranges of which nothing is stored, because ``spec.keep`` or ``spec.types`` leaves out all of their records.

Backups have them of ranges without records, too: what is in no object of theirs must be told from a lost object.

A note is put before the offset moves over its range. So what is in no object and has no note was lost, also when Kafka
cannot tell any more. Name and content depend on range, records and revision only, as those of objects do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from logpersister.ranges import Range, TopicPartition
from logpersister.storage.asking import ask_each
from logpersister.storage.errors import StorageError
from logpersister.storage.names import left_out_key, left_out_prefix
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

    def document(self) -> dict[str, Any]:
        return {
            "topic": self.range.partition.topic,
            "topicId": self.topic_id,
            "partition": self.range.partition.partition,
            "generation": self.generation,
            "start": self.range.start,
            "end": self.range.end,
            "revision": self.revision,
            "records": self.records,
        }


def note_left_out(store: ObjectStore, group: str, note: LeftOutRange, *, if_absent: bool = False) -> None:
    """Store a note; the same again replaces itself. Raises StorageError."""
    key = left_out_key(store.prefix, group, note.range.partition, note.generation, note.range.start)
    store.put_json(key, note.document(), if_absent=if_absent)


def list_left_out(store: ObjectStore, group: str, topic: str) -> Iterator[LeftOutRange]:
    """Yield all notes of a topic. Raises StorageError."""
    keys = (listed.key for listed in store.list_objects(left_out_prefix(store.prefix, group, topic)))
    for key, document in ask_each(lambda key: (key, store.get_json(key)), keys):
        if document is not None:
            yield _parsed(key, document)


def _parsed(key: str, document: Mapping[str, Any]) -> LeftOutRange:
    try:
        partition = TopicPartition(str(document["topic"]), int(document["partition"]))
        return LeftOutRange(
            Range(partition, int(document["start"]), int(document["end"])),
            None if document["topicId"] is None else str(document["topicId"]),
            int(document["generation"]),
            str(document["revision"]),
            int(document["records"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        told = f"object {key!r} is not a note of a range that is left out ({error!r}); see who changed it"
        raise StorageError("damaged", told) from None
