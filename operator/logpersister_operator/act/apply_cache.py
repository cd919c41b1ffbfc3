"""A cache of server-side applies, so that nothing is sent when nothing has changed."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Self

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.observed_objects import Child, Owner


@dataclass(frozen=True, slots=True)
class _Entry:
    """What was sent, and what tells a change of the object that it made."""

    wanted: str
    """Hash of the document."""
    version: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owners: tuple[Owner, ...]

    @classmethod
    def of(cls, wanted: Document, live: Child) -> Self:
        digest = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
        return cls(digest, live.generation or live.version, live.labels, live.annotations, live.owners)


class ApplyCache:
    """Remembers, for each object by its uid, what was sent and what came of it. Thread-safe, in memory only.

    An object needs no apply when the same document was sent before and nobody has changed the object since. The API
    server raises ``metadata.generation`` with every change of a spec, and not for a change of a status; for kinds
    without a generation the resource version counts. Labels, annotations and owners have no generation: they are
    compared themselves.
    """

    def __init__(self) -> None:
        self._by_uid: dict[str, _Entry] = {}
        self._lock = Lock()

    def is_current(self, wanted: Document, live: Child | None) -> bool:
        """Whether ``live`` is still what applying ``wanted`` made of it."""
        if live is None or live.is_leaving:
            return False
        with self._lock:
            known = self._by_uid.get(live.uid)
        return known == _Entry.of(wanted, live)

    def remember(self, wanted: Document, made: Child) -> None:
        """Take in what the API server answered to an apply."""
        with self._lock:
            self._by_uid[made.uid] = _Entry.of(wanted, made)

    def forget(self, live: Child) -> None:
        """Forget an object that is gone."""
        with self._lock:
            self._by_uid.pop(live.uid, None)

    def forget_all_of(self, owner: str) -> None:
        """Forget what a resource owned, by its uid: it is gone, and the garbage collector takes its objects."""
        with self._lock:
            gone = [uid for uid, one in self._by_uid.items() if owner in [its.uid for its in one.owners]]
            for uid in gone:
                del self._by_uid[uid]
