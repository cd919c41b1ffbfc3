"""Notes that somebody is to be told of a folder: each is put once its number is noted in the folder's own note.

Their names say all, and the number is part of them: who was told one number deletes no note of a higher one.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.store import ObjectStore

TABLE: Final = "table"
"""The policy by which a Hive table is told."""


@dataclass(frozen=True, slots=True, order=True)
class Untold:
    """A number of a folder that is to be told."""

    path: str
    """Folder path below its topic."""
    number: int
    """Version of its content; 0: it has its first object, and is not finished."""


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
    keys = [names.untold_key(store.prefix, group, policy, topic, one.path, one.number) for one in untold]
    for _ in ask_each(store.delete, keys):
        pass


class UntoldListing:
    """What is to be told by a policy, listed for all topics at once, and anew after some time. Thread-safe."""

    def __init__(self, store: ObjectStore, group: str, policy: str, seconds: float, clock: Callable[[], float]) -> None:
        """List nothing yet; `clock` gives monotonic seconds."""
        self._store = store
        self._group = group
        self._policy = policy
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._at = float("-inf")
        self._topics: Mapping[str, Sequence[Untold]] = {}

    def of(self, topic: str, *, anew: bool = False) -> Sequence[Untold]:
        """Return what is to be told of a topic; `anew`: as it is now. Raises StorageError."""
        with self._lock:
            if anew or self._clock() - self._at >= self._seconds:
                self._topics = list_untold(self._store, self._group, self._policy)
                self._at = self._clock()
            return self._topics.get(topic, ())

    def forget(self) -> None:
        """List anew next time: some of it was deleted."""
        with self._lock:
            self._at = float("-inf")
