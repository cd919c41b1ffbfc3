"""Notes of due notifications: each is put once its number is in the folder's own note.

The name of a note says all. It has the number, so that a process which has sent one number deletes no higher one.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.store import ObjectStore

_FOLDER: Final = "untold"
TABLE: Final = "table"
"""Policy of the notes for a Hive table."""


@dataclass(frozen=True, slots=True, order=True)
class Untold:
    """Notification of a folder that is due."""

    path: str
    """Folder path below its topic."""
    number: int
    """Version of its content; 0: it has its first object, and is not finished."""


def put_untold(store: ObjectStore, group: str, policy: str, topic: str, untold: Untold) -> None:
    """Note that a notification is due; idempotent. Raises StorageError."""
    store.put_marker(_key(store, group, policy, topic, untold))


def list_untold(store: ObjectStore, group: str, policy: str) -> Mapping[str, Sequence[Untold]]:
    """Return the due notifications of a policy by topic. Raises StorageError."""
    found: dict[str, list[Untold]] = {}
    prefix = names.notes_prefix(store.prefix, group, f"{_FOLDER}/{policy}")
    for listed in store.list_objects(prefix):
        segment, _, rest = listed.key.removeprefix(prefix).partition("/")
        path, _, number = rest.rpartition("/")
        topic = names.unescape_topic(segment)
        if topic and path and number.isdecimal():
            found.setdefault(topic, []).append(Untold(path, int(number)))
    return found


def _key(store: ObjectStore, group: str, policy: str, topic: str, untold: Untold) -> str:
    return names.note_key(store.prefix, group, f"{_FOLDER}/{policy}", topic, f"{untold.path}/{untold.number}")


def delete_untold(store: ObjectStore, group: str, policy: str, topic: str, untold: Sequence[Untold]) -> None:
    """Delete notes; missing ones are fine. Raises StorageError."""
    for _ in ask_each(store.delete, [_key(store, group, policy, topic, one) for one in untold]):
        pass


class UntoldListing:
    """Cached list of the due notifications of a policy, for all topics; listed anew after some time. Thread-safe."""

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
        """Return the due notifications of a topic; `anew`: not from the cache. Raises StorageError."""
        with self._lock:
            if anew or self._clock() - self._at >= self._seconds:
                self._topics = list_untold(self._store, self._group, self._policy)
                self._at = self._clock()
            return self._topics.get(topic, ())

    def forget(self) -> None:
        """List anew next time, because some notes were deleted."""
        with self._lock:
            self._at = float("-inf")
