"""Servers that can be reached and yet are of no use: they refuse the login, or fail what they are asked. Thread-safe.

Connectivity probes need no login (`member.connectivity`), so this goes by the member's own work: what fails for a
minute, while nothing succeeds, is an outage.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from logpersister.report.outages import Outage, Server
from logpersister.report.status import utc_now

OF_TOPICS: Final[tuple[Server, ...]] = ("registry", "catalog")
"""Servers that a topic has, and others do not; each is a kind of error, too."""
LASTING_SECONDS: Final = 60.0
"""Duration of failures from which they count as an outage."""
FORGOTTEN_SECONDS: Final[dict[Server, float]] = {
    "kafka": 60.0,
    "bucket": 180.0,
    "registry": 180.0,
    **dict.fromkeys(("catalog", "copy"), 400.0),
}
"""Seconds without another failure after which it is over; longer than the longest pause between attempts."""
_REMEDIES: Final[dict[Server, str]] = {
    "kafka": "check the Secrets that spec.kafka.security names, and the rights of the user",
    "bucket": "check the Secret and the rights in spec.storage; the reason says more",
    "registry": "check the registry and the Secret that its registry names; the reason says more",
    "copy": "check the store, its Secret and its rights in spec.storage.copies; the reason says more",
    "catalog": "check spec.table.catalog, its Secret and its rights; the reason says more",
}
_TRIED: Final[dict[Server, str]] = {
    "kafka": "the login is tried again with the Secret as it is then",
    "bucket": "uploads are tried again, at most a minute apart; records wait in Kafka",
    "registry": "it is asked again, at most a minute apart; records of its topics wait in Kafka",
    "copy": "it is asked again, at most five minutes apart; folders are archived in the other stores, and wait for it",
    "catalog": "it is asked again, at most five minutes apart; objects are stored, and their rows wait in the bucket",
}


@dataclass(slots=True)
class _Failures:
    since: float
    wall: datetime
    latest: float
    reason: str
    cause: str = ""
    """Why it fails, in words of the server or of the library."""


class Refusals:
    """Remembers since when each server has failed; a topic of a registry or catalog for itself."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        self._wall = wall
        self._lock = threading.Lock()
        self._failures: dict[tuple[Server, str], _Failures] = {}

    def failed(self, server: Server, reason: str, topic: str = "", *, is_cause: bool = False) -> None:
        """Note that a server failed; `topic` if others are not concerned, `is_cause` if this says more than others."""
        now = self._clock()
        with self._lock:
            self._forget(now)
            known = self._failures.setdefault((server, topic), _Failures(now, self._wall(), now, reason))
            known.latest, known.reason = now, reason
            known.cause = reason if is_cause else known.cause

    def worked(self, server: Server, topic: str = "") -> None:
        """Note that a server did what it was asked."""
        with self._lock:
            self._failures.pop((server, topic), None)

    def seconds(self, server: Server, topic: str) -> float:
        """Return for how long a server has failed a topic."""
        with self._lock:
            failures = self._failures.get((server, topic))
            return 0.0 if failures is None else self._clock() - failures.since

    def outages(self) -> tuple[Outage, ...]:
        """Return what has failed for long, at most one outage of each server."""
        now = self._clock()
        with self._lock:
            self._forget(now)
            found: dict[Server, Outage] = {}
            latest = self._latest()
            for (server, _), failures in sorted(self._failures.items(), key=lambda item: item[1].since):
                if latest[server] - failures.since >= LASTING_SECONDS and server not in found:
                    reason = failures.cause or failures.reason
                    found[server] = Outage(
                        server, reason, _REMEDIES[server], _TRIED[server], failures.wall, lasting=True
                    )
            return tuple(found.values())

    def _latest(self) -> dict[Server, float]:
        """Return when each server failed last: a registry is asked about one of its topics after the other."""
        found: dict[Server, float] = {}
        for (server, _), failures in self._failures.items():
            found[server] = max(found.get(server, failures.latest), failures.latest)
        return found

    def _forget(self, now: float) -> None:
        over = {server for server, latest in self._latest().items() if now - latest > FORGOTTEN_SECONDS[server]}
        self._failures = {key: it for key, it in self._failures.items() if key[0] not in over}
