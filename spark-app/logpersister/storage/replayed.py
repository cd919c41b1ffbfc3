"""Notes of replays of history: what a generation stores again, noted before its first object.

(`storage.replays` is about objects in quarantine.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from logpersister.ranges import Range, Span, TopicPartition
from logpersister.storage.names import ObjectName, note_key, notes_prefix
from logpersister.storage.notes import Notes, written
from logpersister.storage.store import ObjectStore

_FOLDER: Final = "replayed"


@dataclass(frozen=True, slots=True)
class ReplayNote:
    """A replay of one topic."""

    topic: str
    topic_id: str | None
    generation: int
    revision: str
    """Revision of the manifest by which it was begun: one generation is one replay of one manifest."""
    bounds: Mapping[int, Span]
    """Offsets that it stores again, by partition."""
    done: bool = False
    """Whether all of them are stored."""

    def has(self, name: ObjectName) -> bool:
        """Whether an object is one of the replay; a member may store in the same generation behind it."""
        start, end = self.bounds.get(name.partition, (0, 0))
        return name.generation == self.generation and start <= name.start < end

    def ranges(self) -> dict[TopicPartition, Range]:
        """Return its bounds as ranges."""
        partitions = {number: TopicPartition(self.topic, number) for number in self.bounds}
        return {partitions[number]: Range(partitions[number], *span) for number, span in self.bounds.items()}


_NOTES: Final = Notes(ReplayNote, "a note of a replay")


def begin_replay(store: ObjectStore, group: str, note: ReplayNote) -> ReplayNote:
    """Note a replay unless its generation is noted already; return what was noted first. Raises StorageError."""
    store.put_json(_key(store, group, note.topic, note.generation), written(note), if_absent=True)
    return get_replay(store, group, note.topic, note.generation) or note


def end_replay(store: ObjectStore, group: str, note: ReplayNote) -> None:
    """Note that all of a replay is stored. Raises StorageError."""
    store.put_json(_key(store, group, note.topic, note.generation), written(replace(note, done=True)))


def get_replay(store: ObjectStore, group: str, topic: str, generation: int) -> ReplayNote | None:
    """Return the replay of a topic that a generation is, if it is one. Raises StorageError."""
    return _NOTES.get(store, _key(store, group, topic, generation))


def list_replayed(store: ObjectStore, group: str, topic: str) -> Iterator[ReplayNote]:
    """Yield the replays of a topic. Raises StorageError."""
    return _NOTES.below(store, notes_prefix(store.prefix, group, _FOLDER, topic))


def _key(store: ObjectStore, group: str, topic: str, generation: int) -> str:
    return note_key(store.prefix, group, _FOLDER, topic, f"{generation}.json")
