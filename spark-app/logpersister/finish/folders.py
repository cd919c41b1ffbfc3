"""The folders by time that a topic has in the bucket, and what is in one of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from logpersister.finish.positions import Positions
from logpersister.records.time_folders import TimeFolder, TimeFolders
from logpersister.records.type_folders import AnyFolders, TypeFolders
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.current import NONE, Current, get_current
from logpersister.storage.facts import ObjectFacts, check_name
from logpersister.storage.finished import FolderObject
from logpersister.storage.store import ObjectStore


def existing_folders(
    store: ObjectStore,
    topic: str,
    layout: AnyFolders,
    *,
    after: int | None,
    until: int,
    most: int | None = None,
    outer: bool = False,
    below: str = "",
) -> list[TimeFolder]:
    """Return the folders that end in ``(after, until]`` (milliseconds since the epoch), oldest first.

    One listing for each folder above them that may have one, by the date in its name. Where no levels stand above,
    names are in the order of time, and no more than the oldest `most` are looked for. Raises StorageError.

    Args:
        after: when the last one was over that is not wanted; None: all are.
        until: when the last one is over that is wanted.
        most: how many are wanted where that spares listings; None: all are.
        outer: whether those of outer levels by date are wanted, too. They stand behind all that are over by then.
        below: folder below that of the topic in which they are looked for; it is not part of their paths.
    """
    found = _found(store, topic, layout, after, until, below=below)
    in_order = isinstance(layout, TimeFolders) and layout.above == 0
    folders = list(islice(found, most) if in_order else found)
    if outer:
        all_until = folders[-1].end if in_order and len(folders) == most else until
        folders += (one for one in _found(store, topic, layout, after, until, outer=True) if one.end <= all_until)
    return sorted(folders)


def has_folders(
    store: ObjectStore, topic: str, layout: AnyFolders, *, after: int | None, until: int, outer: bool = False
) -> bool:
    """Whether there is such a folder; lists until one is found. Raises StorageError."""
    found = (_found(store, topic, layout, after, until, outer=one) for one in ([False, True] if outer else [False]))
    return any(next(folders, None) is not None for folders in found)


def _found(
    store: ObjectStore,
    topic: str,
    layout: AnyFolders,
    after: int | None,
    until: int,
    *,
    outer: bool = False,
    below: str = "",
) -> Iterator[TimeFolder]:
    root = f"{names.topic_prefix(store.prefix, topic)}{below}"
    if isinstance(layout, TimeFolders):
        inside = _of_levels(store, root, layout, after, until, outer=outer)
    else:
        inside = _of_types(store, root, layout, after, until, outer=outer)
    return (one for one in inside if (after is None or one.end > after) and one.end <= until)


def _of_types(
    store: ObjectStore, root: str, layout: TypeFolders, after: int | None, until: int, *, outer: bool
) -> Iterator[TimeFolder]:
    def listed(type_: str) -> list[TimeFolder]:
        inner = layout.of_type(type_)
        if inner is None:
            return []
        below = _of_levels(store, f"{root}{type_}/", inner, after, until, outer=outer)
        return [replace(one, path=f"{type_}/{one.path}") for one in below]

    for found in ask_each(listed, (key.removeprefix(root).rstrip("/") for key in store.folders(root))):
        yield from found


def _of_levels(
    store: ObjectStore, root: str, layout: TimeFolders, after: int | None, until: int, *, outer: bool
) -> Iterator[TimeFolder]:
    for one in layout.outer if outer else (layout,):
        yield from _below(store, root, "", one, after, until)


def _below(
    store: ObjectStore, root: str, path: str, layout: TimeFolders, after: int | None, until: int
) -> Iterator[TimeFolder]:
    at_dates = (path.count("/") + 1 if path else 0) == layout.above
    behind = layout.before_all(after) if at_dates and after is not None else ""
    for key in store.folders(f"{root}{path}/" if path else root, behind=behind):
        inner = key.removeprefix(root).rstrip("/")
        if not layout.may_hold(inner, after, until):
            continue
        if inner.count("/") + 1 == layout.depth:
            folder = layout.folder_of(inner)
            if folder is not None:
                yield folder
        else:
            yield from _below(store, root, inner, layout, after, until)


@dataclass(frozen=True, slots=True)
class Content:
    """The objects of a folder: those that stay as they are, and the facts of those that may not."""

    final: tuple[FolderObject, ...]
    pending: tuple[ObjectFacts, ...]
    current: Current = NONE
    """Document that says which objects count: others are in neither."""


def content_of(
    store: ObjectStore,
    group: str,
    topic: str,
    path: str,
    positions: Positions,
    known: Mapping[str, FolderObject],
) -> Content:
    """List a folder. Raises StorageError, ForeignObjectError.

    Args:
        positions: of the topic; older than the listing.
        known: by name, objects that are final and were read before.
    """
    current = get_current(store, group, topic)  # before the listing, so that each record counts once
    root = names.topic_prefix(store.prefix, topic) + path + "/"
    found = {one.key: (names.parse_object_key(store.prefix, one.key), one) for one in store.list_objects(root)}
    listed = {key: (name, one) for key, (name, one) in found.items() if name is not None and current.counts(name)}
    old = {
        key: known[name]
        for key, (_, one) in listed.items()
        if (name := key.removeprefix(root)) in known and known[name].bytes == one.size
    }
    new = {key: one for key, one in listed.items() if key not in old}
    final, pending = list(old.values()), []
    for key, facts in ask_each(lambda key: (key, store.facts(key)), new):
        if facts is None or facts.group != group:
            continue
        check_name(key, new[key][0], facts)
        if positions.is_final(facts) or current.is_of_replay(new[key][0]):  # one that counts is whole
            name, range_ = key.removeprefix(root), facts.range
            partition, size = range_.partition.partition, new[key][1].size
            final.append(FolderObject(name, partition, facts.generation, range_.start, facts.records, size))
        else:
            pending.append(facts)
    return Content(tuple(sorted(final)), tuple(pending), current)
