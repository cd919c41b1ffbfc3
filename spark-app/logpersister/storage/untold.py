"""Notes that somebody is to be told of a folder: each is put once its number is noted in the folder's own note.

Their names say all, and the number is part of them: who was told one number deletes no note of a higher one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from logpersister.storage import names
from logpersister.storage.store import ObjectStore


@dataclass(frozen=True, slots=True, order=True)
class Untold:
    """A number of a folder that is to be told."""

    path: str
    """Of the folder, below that of its topic."""
    number: int


def put_untold(store: ObjectStore, group: str, policy: str, topic: str, untold: Untold) -> None:
    """Note that a number of a folder is to be told; once more changes nothing. Raises StorageError."""
    store.put_marker(names.untold_key(store.prefix, group, policy, topic, untold.path, untold.number))


def list_untold(store: ObjectStore, group: str, policy: str) -> Mapping[str, Sequence[Untold]]:
    """Return what is to be told by a policy, by topic. Raises StorageError."""
    found: dict[str, list[Untold]] = {}
    for listed in store.list_objects(names.untold_prefix(store.prefix, group, policy)):
        parsed = names.parse_untold_key(store.prefix, group, policy, listed.key)
        if parsed is not None:
            topic, path, number = parsed
            found.setdefault(topic, []).append(Untold(path, number))
    return found


def delete_untold(store: ObjectStore, group: str, policy: str, topic: str, untold: Sequence[Untold]) -> None:
    """Delete such notes; those that are gone are fine. Raises StorageError."""
    for one in untold:
        store.delete(names.untold_key(store.prefix, group, policy, topic, one.path, one.number))
