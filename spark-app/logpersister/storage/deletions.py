"""Notes of ranges that somebody has deleted on purpose, by ``logpersister delete``.

A note is put before the first object goes. So offsets that are in no object and in no note were lost. Each window of
each topic has one note, to which a repeated command adds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from logpersister.ranges import Offset
from logpersister.storage.asking import ask_each
from logpersister.storage.current import Span, joined
from logpersister.storage.errors import StorageError
from logpersister.storage.names import ObjectName, deletion_key, deletions_prefix
from logpersister.storage.notes import parse_note, written
from logpersister.storage.store import ObjectStore

ATTEMPTS: Final = 16
_WHAT: Final = "a note of a deletion"


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
                partition: tuple(joined([*_of(self, generation, partition), *_of(other, generation, partition)]))
                for partition in sorted({*self.ranges.get(generation, {}), *other.ranges.get(generation, {})})
            }
            for generation in sorted({*self.ranges, *other.ranges})
        }
        return replace(self, ranges=merged)


def _of(one: Deletion, generation: int, partition: int) -> tuple[Span, ...]:
    return one.ranges.get(generation, {}).get(partition, ())


def note_deletion(store: ObjectStore, group: str, deletion: Deletion) -> None:
    """Note ranges, beside those that are noted of the window already. Raises StorageError."""
    key = deletion_key(store.prefix, group, deletion.topic, deletion.topic_id, deletion.since, deletion.until)
    for _ in range(ATTEMPTS):
        found = store.get_tagged(key)
        if found is None:
            before, tag, after = None, None, deletion
        else:
            before, tag = parse_note(Deletion, key, found[0], _WHAT), found[1]
            after = before.with_ranges(deletion)
        if after == before or store.replace_json(key, written(after), tag):
            return
    raise StorageError("other", f"object {key!r}: others change it all the time; try again later")


def list_deletions(store: ObjectStore, group: str, topic: str) -> Iterator[Deletion]:
    """Yield all notes of a topic. Raises StorageError."""
    keys = (listed.key for listed in store.list_objects(deletions_prefix(store.prefix, group, topic)))
    for key, document in ask_each(lambda key: (key, store.get_json(key)), keys):
        if document is not None:
            yield parse_note(Deletion, key, document, _WHAT)
