"""Lists the folders of a topic, for a table that does not know them yet."""

from collections.abc import Iterator, Sequence

from logpersister.storage.finished import folder_content, list_folders
from logpersister.storage.names import topic_prefix
from logpersister.storage.store import ObjectStore


def folders_of(store: ObjectStore, topic: str, prefixes: Sequence[str]) -> Iterator[str]:
    """Yield the paths of all folders of a topic; one listing for each folder above them. Raises StorageError.

    Args:
        prefixes: what the names of folders begin with, by level; others, such as quarantine, are passed over.
    """
    root = topic_prefix(store.prefix, topic)

    def below(path: str, depth: int) -> Iterator[str]:
        for key in store.folders(f"{root}{path}"):
            inner = key.removeprefix(root)
            if not inner.removeprefix(path).startswith(prefixes[depth]):
                continue
            if depth + 1 == len(prefixes):
                yield inner.rstrip("/")
            else:
                yield from below(inner, depth + 1)

    if prefixes:
        yield from below("", 0)


def finished_folders(store: ObjectStore, group: str, topic: str, *, deepest: bool) -> Iterator[str]:
    """Yield the paths of all folders in finished ones. Raises StorageError. `deepest`: as in `folders_in`."""
    for path in list_folders(store, group, topic):
        yield from folders_in(store, group, topic, path, deepest=deepest)


def folders_in(store: ObjectStore, group: str, topic: str, path: str, *, deepest: bool) -> Sequence[str]:
    """Return the folders that have the objects of a finished folder. Raises StorageError.

    `deepest`: no levels stand below folders by time, so it is the one.
    """
    if deepest:
        return [path]
    found = folder_content(store, group, topic, path)
    objects = () if found is None else found[0].objects
    return sorted({f"{path}/{one.name.rpartition('/')[0]}" for one in objects})
