"""Notes of replays: the object in quarantine, the revision of the replay, and the result for its records.

One note for each object. It is written before the first object of the replay and never removed: the range may be
executed again much later (`plan.recovery`), and whoever finds its quarantine once more sees that the records stand
elsewhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Annotated, Any, Final, Self

from pydantic import Field

from logpersister.ranges import Offset, Range
from logpersister.storage.facts import ObjectFacts
from logpersister.storage.names import REPLAYS, head, notes_prefix, relative_key, replay_key
from logpersister.storage.notes import Notes, written
from logpersister.storage.store import ObjectStore

REPLAY_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Source:
    """An object in quarantine, by what identifies its records."""

    path: Annotated[str, Field(alias="object")]
    """Object name below the prefix: notes may be copied with the objects to another bucket or prefix."""
    range: Range
    topic_id: str | None
    generation: int
    first: Offset
    last: Offset
    records: int
    checksum: str
    revision: str
    horizon: int | None = None
    """Watermark of its range (`ObjectFacts.horizon`): late records may be in it that the parser has not refused."""

    @classmethod
    def of(cls, prefix: str, key: str, facts: ObjectFacts) -> Self:
        """Return the object `key` below a prefix as a source."""
        path = relative_key(prefix, key)
        if path is None:
            raise ValueError(f"{key!r} is not below {prefix!r}")
        return cls(
            path,
            facts.range,
            facts.topic_id,
            facts.generation,
            facts.first,
            facts.last,
            facts.records,
            facts.checksum,
            facts.rules or facts.revision,
            facts.horizon,
        )

    def covers(self, other: "Source") -> bool:
        """Whether another object of this name can have no record that this one has not.

        A range that is executed again gives the same object, or one with fewer records: Kafka's compaction took some.
        """
        same = replace(other, first=self.first, last=self.last, records=self.records, checksum=self.checksum) == self
        is_within = self.first <= other.first and other.last <= self.last and other.records <= self.records
        return same and is_within


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay of one object: `settled` once its records stand in the `objects`, all of them."""

    source: Source
    revision: str
    """Revision whose parser and output make the objects, whichever process makes them."""
    objects: Mapping[str, int] | None = None
    """Their names below the prefix, and how many records each has; None: not all of them are there yet."""
    left_out: int = 0
    """Records of the source that the revision leaves out."""
    keeps_left_out: bool = False
    """Whether these stay in quarantine, with what is refused; else they are in none of the objects."""
    horizon: int | None = None
    """Watermark at the replay's begin, where late records do not stand with the others."""

    adjusted: Mapping[str, int] = field(default_factory=dict)
    """Values that the parser has adjusted in records that it has accepted, by reason; known once it is settled."""

    @property
    def deleted(self) -> int:
        """Number of the source's records that are in none of the objects."""
        return 0 if self.keeps_left_out else self.left_out

    @property
    def settled(self) -> bool:
        """Whether the records are in the objects of the replay, and no longer in the source."""
        return self.objects is not None

    @property
    def id(self) -> str:
        """What its objects have in their names: another source, other records, or another revision have another."""
        said = f"{self.source.path}\n{self.source.checksum}\n{self.revision}"
        said += "" if self.horizon is None else f"\n{self.horizon}"
        said += "\nkeeps left out" if self.keeps_left_out else ""
        return sha256(said.encode()).hexdigest()[:REPLAY_DIGITS]

    def keys(self, prefix: str) -> dict[str, int]:
        """Return the names of its objects, and how many records each has."""
        return {head(prefix) + path: records for path, records in (self.objects or {}).items()}

    def document(self) -> dict[str, Any]:
        return {"objects": None, **written(self)}


_NOTES: Final = Notes(Replay, "a note of a replay")


def begin_replay(store: ObjectStore, group: str, replay: Replay) -> None:
    """Note that an object is replayed, unless that was noted before. Raises StorageError."""
    store.put_json(_key(store, group, replay.source), replay.document(), if_absent=True)


def settle_replay(store: ObjectStore, group: str, replay: Replay) -> None:
    """Note that all objects of a replay are there; the same note again replaces itself. Raises StorageError."""
    if not replay.settled:
        raise ValueError(f"the replay of {replay.source.path} has no objects yet")
    store.put_json(_key(store, group, replay.source), replay.document())


def get_replay(store: ObjectStore, group: str, key: str) -> Replay | None:
    """Return the replay of an object in quarantine, None when there is none. Raises StorageError."""
    return _NOTES.get(store, replay_key(store.prefix, group, key))


def list_replays(store: ObjectStore, group: str, topic: str) -> Iterator[Replay]:
    """Yield all replays of a topic. Raises StorageError."""
    return _NOTES.below(store, notes_prefix(store.prefix, group, REPLAYS, topic))


def _key(store: ObjectStore, group: str, source: Source) -> str:
    return replay_key(store.prefix, group, head(store.prefix) + source.path)
