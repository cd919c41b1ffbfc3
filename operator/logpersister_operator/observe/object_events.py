"""What Kubernetes says of objects that do not become what they should: quotas, policies, volumes, images.

Controllers and the kubelet say it in Events alone. A watch of all Events would cost more than everything else, so
Events are asked for by object, and only of objects that wait.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import Document

log = structlog.get_logger(__name__)

PATIENCE_SECONDS: Final = 15.0
"""How long an object may wait before its Events are asked for."""
AGAIN_SECONDS: Final = 30.0
"""Between two questions about one object."""
_RESOLVED: Final = frozenset({"SuccessfulCreate", "Started"})
"""Reasons of Events after which earlier warnings count no more."""
_EMPTY: Final = ("BackOff", "Error: ")
"""Beginnings of reasons and messages that only say that it failed again."""


@dataclass(slots=True)
class _Asked:
    next: float
    """When to ask, by the clock."""
    words: str = ""


class ObjectEvents:
    """The last warnings about objects of one resource. For one thread at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: dict[str, _Asked] = {}
        """Objects by uid; others are forgotten, so an object that waits again is new."""

    def read(self, cluster: Cluster, namespace: str, uids: Iterable[str]) -> Mapping[str, str]:
        """Return the last warning about each of these objects that has one, by uid; ask when it is time."""
        now = self._clock()
        self._asked = {uid: self._asked.get(uid) or _Asked(now + PATIENCE_SECONDS) for uid in uids}
        for uid, asked in self._asked.items():
            if now < asked.next:
                continue
            asked.next = now + AGAIN_SECONDS
            try:
                asked.words = last_warning(cluster.events(namespace, uid))
            except ClusterError as error:  # the status says less; everything else goes on
                log.warning("events.unread", namespace=namespace, error=str(error))
                if not error.status:
                    break  # each of the others would cost a deadline, too
        return {uid: asked.words for uid, asked in self._asked.items() if asked.words}


def last_warning(events: Iterable[Document]) -> str:
    """Return the newest warning that says why; empty when there is none, or things went on since."""
    for event in sorted(events, key=_time, reverse=True):
        reason, message = event.get("reason") or "", event.get("message") or ""
        if reason in _RESOLVED:
            return ""
        if event.get("type") == "Warning" and message and not (reason.startswith(_EMPTY) or message.startswith(_EMPTY)):
            return " ".join(message.split())
    return ""


def _time(event: Mapping[str, Any]) -> str:
    """Return when an Event was seen last; all times are UTC, to the second at least."""
    series = event.get("series") or {}
    found = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(found or event["metadata"].get("creationTimestamp") or "")[: len("2026-11-21T12:00:00")]
