"""Which objects of a topic count: the document ``current``, which readers and ``logpersister switch`` go by.

Members and replays store the same offsets in different generations. The document says, by ranges of offsets, which
replay counts; elsewhere what members have stored counts. It is replaced as a whole, by compare-and-set.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self, TypeVar

from logpersister.ranges import Offset, Span, minus, union
from logpersister.storage.names import ObjectName, current_key
from logpersister.storage.notes import MOST_ATTEMPTS, Notes, contended
from logpersister.storage.store import ObjectStore

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """Offsets ``[start, end)`` of a partition of which one replay counts."""

    start: Offset
    end: Offset
    generation: int

    @property
    def span(self) -> Span:
        return self.start, self.end


@dataclass(frozen=True, slots=True)
class Current:
    """The document of one topic. Pure."""

    topic_id: str | None
    replays: Mapping[int, Mapping[int, Span]]
    """Offsets that replays store, by generation and partition: they count only in segments of their own."""
    partitions: Mapping[int, tuple[Segment, ...]]
    """Segments by rising start; they never overlap."""
    deleted: Mapping[int, tuple[Span, ...]] = field(default_factory=dict)
    """Offsets of which the objects of members were deleted, or are about to be: they never count again."""

    def counts(self, name: ObjectName) -> bool:
        """Whether an object counts, by its name alone: the offsets at which segments meet are bounds of ranges."""
        for segment in self.partitions.get(name.partition, ()):
            if segment.start <= name.start < segment.end:
                return segment.generation == name.generation
        return not self.is_of_replay(name)

    def is_of_replay(self, name: ObjectName) -> bool:
        """Whether an object is of a replay; a member may store in the same generation behind it."""
        start, end = self.replays.get(name.generation, {}).get(name.partition, (0, 0))
        return start <= name.start < end

    def is_replayed(self, partition: int, start: Offset) -> bool:
        """Whether a replay has stored the range again that begins there."""
        spans = (bounds[partition] for bounds in self.replays.values() if partition in bounds)
        return any(first <= start < end for first, end in spans)

    def is_replaced(self, name: ObjectName) -> bool:
        """Whether an object is one of those of members that were deleted, or are about to be."""
        spans = self.deleted.get(name.partition, ())
        return not self.is_of_replay(name) and any(start <= name.start < end for start, end in spans)

    def begun(self, topic_id: str | None, generation: int, bounds: Mapping[int, Span]) -> Self:
        """Return the document for when a replay begins, none of whose objects counts yet."""
        return self.about(topic_id).with_replay(generation, bounds)

    def about(self, topic_id: str | None) -> Self:
        """Return the document for a topic: what was said of an earlier one of the name says nothing of it."""
        if topic_id == self.topic_id:
            return self
        return replace(self, topic_id=topic_id, partitions={}, deleted={})

    def with_replay(self, generation: int, bounds: Mapping[int, Span]) -> Self:
        """Return the document in which a replay is known."""
        return replace(self, replays={**self.replays, generation: bounds})

    def switched(self, generation: int, bounds: Mapping[int, Span]) -> Self:
        """Return the document for when a replay counts, within its bounds by partition."""
        partitions = dict(self.partitions)
        for number, span in bounds.items():
            old = ((it.generation, minus([it.span], [span])) for it in partitions.get(number, ()))
            kept = [Segment(*part, of) for of, parts in old for part in parts]
            partitions[number] = tuple(sorted([*kept, Segment(*span, generation)]))
        return replace(self, partitions=partitions)

    def without_old(self) -> Self:
        """Return the document for before the objects of members are deleted that do not count."""
        deleted = dict(self.deleted)
        for number, segments in self.partitions.items():
            if segments:
                deleted[number] = tuple(union([*deleted.get(number, ()), *(it.span for it in segments)]))
        return replace(self, deleted=deleted)

    def switched_back(self) -> Self:
        """Return the document for when what members have stored counts, everywhere."""
        return replace(self, partitions={})


NONE: Final = Current(None, {}, {})
"""Where there was no replay, all that members have stored counts."""
_NOTES: Final = Notes(Current, "the document which generation counts")


def get_current(store: ObjectStore, group: str, topic: str) -> Current:
    """Return the document of a topic; where there is none, all that members have stored counts. Raises StorageError."""
    return _NOTES.get(store, current_key(store.prefix, group, topic)) or NONE


def look_by_current(store: ObjectStore, group: str, topic: str, look: Callable[[Current], Found]) -> Found:
    """Return what `look` finds by the document of a topic; look again where that has changed meanwhile.

    Objects that are listed are of replays that the document knows, and it counts none that are not there yet, only if
    the same document stood there before and behind the listing. Raises StorageError.
    """
    current = get_current(store, group, topic)
    for _ in range(MOST_ATTEMPTS):
        found, before = look(current), current
        current = get_current(store, group, topic)
        if current == before:
            return found
    raise contended(current_key(store.prefix, group, topic))


def change_current(store: ObjectStore, group: str, topic: str, change: Callable[[Current], Current]) -> Current:
    """Replace the document of a topic by what `change` makes of it, and return that. Raises StorageError."""
    return _NOTES.change(store, current_key(store.prefix, group, topic), change, NONE)
