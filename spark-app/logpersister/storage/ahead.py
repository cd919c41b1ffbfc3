"""Looks for objects of a partition at or behind an offset, with work that does not grow with what is older.

The name of an object has the start of its range. So behind the topic's folder, and the partition path, one listing can
begin at an offset. With partition paths any folder may have the object: only the last ones are looked into, because
records of now go there when folders are made of time.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from logpersister.ranges import Offset, TopicPartition
from logpersister.records.escaping import is_aside
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.errors import StorageError
from logpersister.storage.store import ObjectStore

NEWEST_FOLDERS: Final = 2
"""Newest folders searched per level: an hour or a day may end during the search."""
_FEW: Final = 10


def newest_folders(store: ObjectStore, topic: str, path: str = "") -> list[str]:
    """Return the last partition paths of a topic, a few of each level, in their order; never quarantine or late ones.

    One listing for each level and folder. Raises StorageError.
    """
    topic_folder = names.topic_prefix(store.prefix, topic)
    folders = store.folders(topic_folder + (f"{path}/" if path else ""))
    paths = (folder[len(topic_folder) : -1] for folder in folders)
    below = sorted((path for path in paths if not is_aside(path)), key=lambda path: (len(path), path))
    if not below:
        return [path]
    return [leaf for last in below[-NEWEST_FOLDERS:] for leaf in newest_folders(store, topic, last)]


def first_ahead(
    store: ObjectStore,
    positions: Mapping[TopicPartition, Offset],
    generation: int,
    *,
    in_folders: bool,
    until: Mapping[TopicPartition, Offset] | None = None,
) -> dict[TopicPartition, Offset | StorageError | None]:
    """Return the start of an object of a generation at or behind each position; None: none was found.

    Objects that begin at or behind `until` are none; None, and partitions that are missing there: there is no end.

    Without partition paths that is one listing a partition. With them, the last folders of each topic are looked into.
    """
    topics = {partition.topic for partition in positions}
    ends = until or {}
    folders = {topic: _folders(store, topic) if in_folders else [""] for topic in topics}

    def look(partition: TopicPartition) -> Offset | StorageError | None:
        paths = folders[partition.topic]
        try:
            if isinstance(paths, StorageError):
                return paths
            starts = _starts(store, partition, generation, positions[partition], paths)
            return next((start for start in starts if start < ends.get(partition, start + 1)), None)
        except StorageError as error:
            return error  # that concerns this partition only

    return dict(zip(positions, ask_each(look, positions), strict=True))


def _folders(store: ObjectStore, topic: str) -> list[str] | StorageError:
    try:
        return newest_folders(store, topic)[-NEWEST_FOLDERS:]
    except StorageError as error:
        return error


def _starts(
    store: ObjectStore, partition: TopicPartition, generation: int, position: Offset, paths: Iterable[str]
) -> Iterator[Offset]:
    for path in paths:
        prefix = names.partition_prefix(store.prefix, partition.topic, path, generation, partition.partition)
        # Behind every name that begins with the offset before: an extension may follow the digits, or nothing.
        behind = f"{prefix}{position - 1:020d}~" if position > 0 else ""
        for key in _keys(store, prefix, behind):
            name = names.parse_object_key(store.prefix, key)
            if name is not None:
                yield name.start
                break


def _keys(store: ObjectStore, prefix: str, behind: str) -> Iterator[str]:
    """Yield the names behind another one. Mostly there is none, and never one that is not an object of records."""
    first = store.first_keys(prefix, start_after=behind, most=_FEW)
    yield from first
    if len(first) == _FEW:
        yield from (listed.key for listed in store.list_objects(prefix, start_after=first[-1]))
