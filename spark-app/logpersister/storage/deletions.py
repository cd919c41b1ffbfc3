"""Notes of ranges that somebody has deleted on purpose, by ``logpersister delete``.

A note is put before the first object goes. So offsets that are in no object and in no note were lost. Each window of
each topic has one note, to which a repeated command adds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from logpersister.ranges import Offset, Span, union
from logpersister.records.escaping import escape
from logpersister.storage.names import ObjectName, note_key, notes_prefix
from logpersister.storage.notes import Notes
from logpersister.storage.store import ObjectStore

_FOLDER: Final = "deletions"


@dataclass(frozen=True, slots=True)
class Deletion:
    """What was deleted of a topic by one window of time."""

    topic: str
    topic_id: str | None
    since: int | None
    until: int
    """The window, in milliseconds since the epoch; `since` None: from the first record on."""
    at: datetime
    """When it was noted first."""
    ranges: Mapping[int, Mapping[int, tuple[Span, ...]]]
    """Offsets by generation and partition: whole ranges, of which no object stays."""

    def has_offset(self, partition: int, offset: Offset) -> bool:
        """Whether an offset was deleted in any generation."""
        return any(start <= offset < end for number in self.ranges for start, end in _of(self, number, partition))

    def has_object(self, name: ObjectName) -> bool:
        """Whether an object is of a deleted range, by its name alone."""
        return any(start <= name.start < end for start, end in _of(self, name.generation, name.partition))

    @property
    def offsets(self) -> int:
        """How many offsets it has, those of several generations once for each."""
        return sum(end - start for spans in self._spans() for start, end in spans)

    def _spans(self) -> Iterator[tuple[Span, ...]]:
        for partitions in self.ranges.values():
            yield from partitions.values()

    def with_ranges(self, other: "Deletion") -> "Deletion":
        """Return it with the ranges of another one of the same window."""
        merged = {
            generation: {
                partition: tuple(union([*_of(self, generation, partition), *_of(other, generation, partition)]))
                for partition in sorted({*self.ranges.get(generation, {}), *other.ranges.get(generation, {})})
            }
            for generation in sorted({*self.ranges, *other.ranges})
        }
        return replace(self, ranges=merged)


_NOTES: Final = Notes(Deletion, "a note of a deletion")


def _of(one: Deletion, generation: int, partition: int) -> tuple[Span, ...]:
    return one.ranges.get(generation, {}).get(partition, ())


def note_deletion(store: ObjectStore, group: str, deletion: Deletion) -> None:
    """Note ranges, beside those that are noted of the window already. Raises StorageError."""
    file = f"{'' if deletion.since is None else deletion.since}_{deletion.until}"
    file += "" if deletion.topic_id is None else f"_{escape(deletion.topic_id)}"
    key = note_key(store.prefix, group, _FOLDER, deletion.topic, f"{file}.json")
    _NOTES.change(store, key, lambda before: before.with_ranges(deletion), replace(deletion, ranges={}))


def list_deletions(store: ObjectStore, group: str, topic: str) -> Iterator[Deletion]:
    """Yield all notes of a topic. Raises StorageError."""
    return _NOTES.below(store, notes_prefix(store.prefix, group, _FOLDER, topic))
