"""Reads the facts of all objects of single ranges."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from logpersister.ranges import Offset, TopicPartition
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.facts import ForeignObjectError, ObjectFacts
from logpersister.storage.store import ObjectStore

Stored = Mapping[str, ObjectFacts | ForeignObjectError]
"""Facts by object name; an error for an object that cannot be understood."""


@dataclass(frozen=True, slots=True)
class SoughtRange:
    """A range by what the names of its objects say of it."""

    partition: TopicPartition
    generation: int
    start: Offset


def objects_of(
    store: ObjectStore, sought: Collection[SoughtRange], paths: Sequence[str] | None
) -> Mapping[SoughtRange, Stored]:
    """Return what is stored of each range; ranges of which nothing is are left out.

    Args:
        paths: the only ones that objects of these ranges can have. None: any, so whole topics are listed.
    """
    keys = _in_folders(store, sought, paths) if paths is not None else _anywhere(store, sought)
    found: defaultdict[SoughtRange, dict[str, ObjectFacts | ForeignObjectError]] = defaultdict(dict)
    for key, facts in ask_each(lambda key: (key, _facts(store, key)), keys):
        if facts is not None:
            found[keys[key]][key] = facts
    return found


def _in_folders(store: ObjectStore, sought: Collection[SoughtRange], paths: Sequence[str]) -> dict[str, SoughtRange]:
    keys: dict[str, SoughtRange] = {}
    for one in sought:
        for path in paths:
            partition = one.partition
            start = names.object_key(
                store.prefix, partition.topic, path, one.generation, partition.partition, one.start, ""
            )
            keys |= {listed.key: one for listed in store.list_objects(start)}
    return {key: one for key, one in keys.items() if names.parse_object_key(store.prefix, key) is not None}


def _anywhere(store: ObjectStore, sought: Collection[SoughtRange]) -> dict[str, SoughtRange]:
    wanted = set(sought)
    return {
        listed.key: one
        for topic in sorted({one.partition.topic for one in sought})
        for name, listed in store.inventory(topic)
        if (one := SoughtRange(name.topic_partition, name.generation, name.start)) in wanted
    }


def _facts(store: ObjectStore, key: str) -> ObjectFacts | ForeignObjectError | None:
    try:
        return store.facts(key)
    except ForeignObjectError as error:
        return error
