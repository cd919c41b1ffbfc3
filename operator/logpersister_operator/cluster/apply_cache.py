"""A cache of server-side applies, so that nothing is sent when nothing has changed."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from logpersister_operator.cluster.kinds import Document


@dataclass(frozen=True, slots=True)
class _Entry:
    wanted: str
    """Hash of the document that was sent."""
    found: str
    """Fingerprint of the object that it made."""


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

    def is_current(self, wanted: Document, live: Mapping[str, Any] | None) -> bool:
        """Whether ``live`` is still what applying ``wanted`` made of it."""
        if live is None or live["metadata"].get("deletionTimestamp"):
            return False
        with self._lock:
            known = self._by_uid.get(live["metadata"]["uid"])
        return known == _Entry(_digest(wanted), _fingerprint(live))

    def remember(self, wanted: Document, made: Mapping[str, Any]) -> None:
        """Take in what the API server answered to an apply."""
        with self._lock:
            self._by_uid[made["metadata"]["uid"]] = _Entry(_digest(wanted), _fingerprint(made))

    def forget(self, live: Mapping[str, Any]) -> None:
        """Forget an object that is gone."""
        with self._lock:
            self._by_uid.pop(live["metadata"]["uid"], None)


def _fingerprint(live: Mapping[str, Any]) -> str:
    metadata = live["metadata"]
    version = metadata.get("generation") or metadata["resourceVersion"]
    return _digest([version, *(metadata.get(name) for name in ("labels", "annotations", "ownerReferences"))])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
