"""Notes of replays of history: what a generation stores again, noted before its first object.

(`storage.replays` is about objects in quarantine.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from logpersister.ranges import Range, TopicPartition
from logpersister.storage.asking import ask_each
from logpersister.storage.current import Span
from logpersister.storage.names import ObjectName, replayed_key, replayed_prefix
from logpersister.storage.notes import parse_note, written
from logpersister.storage.store import ObjectStore

_WHAT: Final = "a note of a replay"


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


def begin_replay(store: ObjectStore, group: str, note: ReplayNote) -> ReplayNote:
    """Note a replay unless its generation is noted already; return what was noted first. Raises StorageError."""
    store.put_json(_key(store, group, note), written(note), if_absent=True)
    return get_replay(store, group, note.topic, note.generation) or note


def end_replay(store: ObjectStore, group: str, note: ReplayNote) -> None:
    """Note that all of a replay is stored. Raises StorageError."""
    store.put_json(_key(store, group, note), written(replace(note, done=True)))


def get_replay(store: ObjectStore, group: str, topic: str, generation: int) -> ReplayNote | None:
    """Return the replay of a topic that a generation is, if it is one. Raises StorageError."""
    key = replayed_key(store.prefix, group, topic, generation)
    document = store.get_json(key)
    return None if document is None else parse_note(ReplayNote, key, document, _WHAT)


def list_replayed(store: ObjectStore, group: str, topic: str) -> Iterator[ReplayNote]:
    """Yield the replays of a topic. Raises StorageError."""
    keys = (listed.key for listed in store.list_objects(replayed_prefix(store.prefix, group, topic)))
    for key, document in ask_each(lambda key: (key, store.get_json(key)), keys):
        if document is not None:
            yield parse_note(ReplayNote, key, document, _WHAT)


def _key(store: ObjectStore, group: str, note: ReplayNote) -> str:
    return replayed_key(store.prefix, group, note.topic, note.generation)
