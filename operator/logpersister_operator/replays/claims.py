"""Which LogReplay has a generation of a LogPersister: no two replays go into one. Thread-safe."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logpersister_operator.observe.resource import key_of
from logpersister_operator.observed_state import ResourceKey


@dataclass(frozen=True, slots=True, order=True)
class _Claim:
    """Older resources come first, as their times are written; of those of one second the first by name."""

    created: str
    name: str
    generation_of: tuple[str, int]


class Claims:
    """What all replays want to store, as they were seen last."""

    def __init__(self) -> None:
        self._claims: dict[ResourceKey, _Claim] = {}
        self._lock = threading.Lock()

    def seen(self, body: Mapping[str, Any]) -> None:
        """Take in a replay; one whose spec makes no sense claims nothing."""
        metadata, spec = body["metadata"], body.get("spec") or {}
        wanted = spec.get("resource"), spec.get("generation")
        with self._lock:
            self._claims.pop(key_of(body), None)
            if isinstance(wanted[0], str) and isinstance(wanted[1], int):
                claim = _Claim(str(metadata["creationTimestamp"]), str(metadata["name"]), (wanted[0], wanted[1]))
                self._claims[key_of(body)] = claim

    def gone(self, body: Mapping[str, Any]) -> None:
        """Take in that a replay does not exist any more."""
        with self._lock:
            self._claims.pop(key_of(body), None)

    def holder(self, key: ResourceKey) -> str:
        """Return the name of the replay that has what this one wants; empty when that is this one."""
        with self._lock:
            own = self._claims.get(key)
            rivals = [
                one
                for other, one in self._claims.items()
                if own is not None and other.namespace == key.namespace and one.generation_of == own.generation_of
            ]
        first = min(rivals, default=None)
        return "" if first is None or first.name == key.name else first.name
