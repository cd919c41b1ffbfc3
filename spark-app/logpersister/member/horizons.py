"""Watermarks of finished folders for the promises of this member (``spec.finish.late``).

The duty that finishes folders notes it in the bucket, perhaps in another process. Whatever is read there is at most
the truth, also when the promise stands in Kafka a while later. So the read needs no fence: with an old horizon, or with
none, late records are appended to their folders, as they are without this.

The bucket is asked in threads, because the cycle waits for nobody. Meanwhile the topic waits: a promise that was made
by what was true an hour ago would let all late records of this hour into finished folders.
"""

import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

import structlog

from logpersister.aside import Threads
from logpersister.backoff import Backoff
from logpersister.manifest import LogPersister
from logpersister.storage.errors import StorageError
from logpersister.storage.finished import horizon_of
from logpersister.storage.store import ObjectStore

log = structlog.get_logger(__name__)

FRESH_SECONDS: Final = 15.0
"""How old a reading may be. At half this age it is renewed, so that a busy topic never waits for that."""
AT_ONCE: Final = 4
_BACKOFF: Final = Backoff(2.0, 60.0)
_NEVER: Final = float("-inf")


@dataclass(slots=True)
class _Reading:
    horizon: int | None = None
    good_until: float = _NEVER
    """Expiry by the clock, as all times here."""
    ask_at: float = _NEVER
    asked_at: float = 0.0
    answer: "Future[int | None] | None" = None
    failures: int = 0


class BucketHorizons:
    """Watermarks that this member knows; behind the port `Horizons`. For one thread at a time."""

    def __init__(
        self,
        resource: LogPersister,
        store: ObjectStore,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resource = resource
        self._store = store
        self._clock = clock
        self._readings: dict[str, _Reading] = {}
        self._tells_late: dict[str, bool] = {}
        self._threads = Threads(AT_ONCE, "horizons")

    def now(self, topics: Collection[str]) -> dict[str, int | None]:
        """Return the watermarks of topics (milliseconds since the epoch); topics that have to wait are missing."""
        found: dict[str, int | None] = {topic: None for topic in topics if not self._tells(topic)}
        for topic in topics:
            if topic not in found:
                reading = self._reading(topic)
                if self._clock() < reading.good_until:
                    found[topic] = reading.horizon
        return found

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _tells(self, topic: str) -> bool:
        """Whether late records of a topic go elsewhere."""
        if topic not in self._tells_late:
            self._tells_late[topic] = self._resource.spec.for_topic(topic).late != "append"
        return self._tells_late[topic]

    def _reading(self, topic: str) -> _Reading:
        reading = self._readings.setdefault(topic, _Reading())
        if reading.answer is not None and reading.answer.done():
            self._take(topic, reading, reading.answer)
        if reading.answer is None and self._clock() >= reading.ask_at:
            reading.asked_at = self._clock()
            reading.answer = self._threads.submit(self._asked, topic)
        return reading

    def _asked(self, topic: str) -> int | None:
        return horizon_of(self._store, self._resource.group_id, topic, self._resource.spec.generation)

    def _take(self, topic: str, reading: _Reading, answer: "Future[int | None]") -> None:
        reading.answer = None
        try:
            reading.horizon = answer.result()
        except Exception as error:
            reading.failures += 1
            reading.ask_at = self._clock() + _BACKOFF.pause(reading.failures)
            waits = reading.good_until == _NEVER and (not isinstance(error, StorageError) or error.retriable)
            if not waits:
                reading.good_until = float("inf")  # late records are appended that an older horizon does not cover
            log.warning("horizon.not_read", topic=topic, waits=waits, error=str(error))
            return
        reading.failures = 0
        reading.ask_at = reading.asked_at + FRESH_SECONDS / 2
        reading.good_until = reading.asked_at + FRESH_SECONDS
