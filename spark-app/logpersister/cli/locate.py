"""Finds the object of a topic that has an offset."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from logpersister.cli.exits import CommandError, Exit
from logpersister.ranges import Offset
from logpersister.storage.facts import ForeignObjectError, ObjectFacts
from logpersister.storage.names import ObjectName
from logpersister.storage.store import ListedObject, ObjectStore


@dataclass(frozen=True, slots=True)
class Located:
    """An object, and what it says of itself."""

    key: str
    facts: ObjectFacts | None = None
    """Known when it was asked for an offset."""
    others: tuple[str, ...] = ()
    """Objects of the same range in other folders, any of which may have the offset."""


def locate(store: ObjectStore, topic: str, partition: int | None, offset: Offset | None) -> Located:
    """Return the object of the topic that has the offset, or is the first one. Raises CommandError, StorageError.

    Where several generations have it, the highest one is meant.
    """
    if partition is None:
        first = next(_names(store, topic, lambda _: True), None)
        if first is None:
            raise _nothing(store, f"no object of topic {topic}")
        return Located(first[1].key)
    mine = _names(store, topic, lambda name: name.partition == partition)
    if offset is None:
        found = min(mine, key=lambda one: (-one[0].generation, one[0].start, one[1].key), default=None)
        if found is None:
            raise _nothing(store, f"no object of {topic}-{partition}")
        return Located(found[1].key)
    located = _with_offset(store, mine, offset)
    if located is None:
        raise _nothing(store, f"no object of {topic}-{partition} with offset {offset}")
    return located


def _names(
    store: ObjectStore, topic: str, wanted: Callable[[ObjectName], bool]
) -> Iterator[tuple[ObjectName, ListedObject]]:
    return ((name, listed) for name, listed in store.inventory(topic) if wanted(name))


def _with_offset(
    store: ObjectStore, named: Iterator[tuple[ObjectName, ListedObject]], offset: Offset
) -> Located | None:
    """Return the object whose facts cover the offset. In each generation only the last start before it can."""
    nearest: dict[int, tuple[Offset, list[str]]] = {}
    for name, listed in named:
        start, keys = nearest.get(name.generation, (-1, []))
        if start <= name.start <= offset:
            nearest[name.generation] = (name.start, [*(keys if name.start == start else []), listed.key])
    for _, (_, keys) in sorted(nearest.items(), reverse=True):
        covering = [
            (key, facts) for key in keys if (facts := _facts(store, key)) and facts.first <= offset <= facts.last
        ]
        if covering:
            (key, facts), *others = covering
            return Located(key, facts, tuple(other for other, _ in others))
    return None


def _facts(store: ObjectStore, key: str) -> ObjectFacts | None:
    try:
        return store.facts(key)
    except ForeignObjectError:
        return None


def _nothing(store: ObjectStore, what: str) -> CommandError:
    where = f"s3://{store.storage.place}".rstrip("/")
    return CommandError(f"{where}: {what}; logpersister ls --objects lists what is stored", Exit.FAILED)
