"""Notices that Kafka or the bucket is away, and logs it in words instead of a library's messages.

The cycle cannot: while a server is away, the cycle waits in requests. So a thread of its own probes both: seldom while
all is well, at once when the Kafka library complains, and every second while a server is away.
"""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, Self

import structlog

from logpersister.kafka_client.causes import Failure
from logpersister.report.outages import Outage, Server
from logpersister.report.status import utc_now

log = structlog.get_logger(__name__)

FindUnreachable = Callable[[], Mapping[str, Failure]]
"""Returns the addresses of a server that cannot be used, and why."""

AWAY_SECONDS: Final = 1.0
"""Between two checks while something is away."""
CALM_SECONDS: Final = 10.0
"""Seconds without a complaint of the library after which a disturbance is over."""
AWAY: Final[Mapping[Server, str]] = {"kafka": "kafka.away", "bucket": "bucket.away"}
BACK: Final[Mapping[Server, str]] = {"kafka": "kafka.back", "bucket": "bucket.back"}
TRIED: Final[Mapping[Server, str]] = {
    "kafka": "the group is joined again as soon as a broker answers",
    "bucket": "uploads are tried again, at most a minute apart; records wait in Kafka",
}


class ConnectivityProbe:
    """Probes the addresses of one server, and remembers since when each of them is away."""

    def __init__(self, server: Server, addresses: int, find_unreachable: FindUnreachable) -> None:
        self.server: Server = server
        self._addresses = addresses
        self._find_unreachable = find_unreachable
        self._away: dict[str, tuple[Failure, float]] = {}
        self.outage: Outage | None = None
        self._since = 0.0

    def check(self, now: float, wall: datetime, limit: float) -> None:
        """Probe every address, and log what has changed."""
        failures = self._find_unreachable()
        for address in [one for one in self._away if one not in failures]:
            _, since = self._away.pop(address)
            log.warning(BACK[self.server], address=address, after_seconds=round(now - since, 1))
        for address, failure in failures.items():
            if address not in self._away:
                log.warning(AWAY[self.server], address=address, reason=failure.cause, remedy=failure.remedy)
            self._away[address] = (failure, self._away.get(address, (failure, now))[1])
        if len(failures) < self._addresses or not failures:
            self.outage = None
            return
        address, failure = next(iter(failures.items()))
        if self.outage is None:
            self._since = now
        began = wall if self.outage is None else self.outage.since
        # The latest reason: the first one may be of the moment in which the server went.
        reason, lasting = f"{address}: {failure.cause}", now - self._since >= limit
        self.outage = Outage(self.server, reason, failure.remedy, TRIED[self.server], began, lasting)

    @property
    def disturbed(self) -> bool:
        """Whether some of its addresses cannot be used."""
        return bool(self._away)


class OutageMonitor:
    """Runs the probes on a thread of its own, while it is entered as a context manager."""

    def __init__(
        self,
        probes: list[ConnectivityProbe],
        limit_seconds: float,
        on_check: Callable[[tuple[Outage, ...]], None],
        refusals: Callable[[], tuple[Outage, ...]] = lambda: (),
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = utc_now,
    ) -> None:
        """Take the session time-out as `limit_seconds`; `on_check` gets after each check what is away.

        `refusals` returns servers that can be reached and are of no use all the same (`member.refusals`).
        """
        self._probes = probes
        self._limit = limit_seconds
        self._on_check = on_check
        self._refusals = refusals
        self._clock = clock
        self._wall = wall
        self._calm_seconds = min(max(limit_seconds / 3, 2.0), 15.0)
        self._wake = threading.Event()
        self._closed = False
        self._complaints = 0
        self._first_complaint = ""
        self._complained_at = 0.0
        self._complaining_since: float | None = None
        self._disturbance_logged = False
        self._thread = threading.Thread(target=self._check_forever, name="outages", daemon=True)

    def complain(self, message: str) -> None:
        """Take a complaint of the Kafka library instead of logging it. Cheap; from any thread."""
        if not self._complaints:
            self._first_complaint = message
        self._complaints += 1
        self._complained_at = self._clock()
        self._wake.set()

    def away(self) -> tuple[Outage, ...]:
        """Return what is away, or refuses what it is asked."""
        found = {probe.server: probe.outage for probe in self._probes if probe.outage is not None}
        return tuple(({one.server: one for one in self._refusals()} | found).values())

    def check(self) -> None:
        for probe in self._probes:
            probe.check(self._clock(), self._wall(), self._limit)
        self._sum_up_complaints()
        if not self._closed:
            self._on_check(self.away())

    def _sum_up_complaints(self) -> None:
        """Say once that the library complains, when all known addresses answer; and once that it has ended."""
        now = self._clock()
        if self._complaints and self._complaining_since is None:
            self._complaining_since = now
            self._disturbance_logged = not any(probe.disturbed for probe in self._probes)
            if self._disturbance_logged:
                log.warning("kafka.disturbed", message=self._first_complaint)
        elif self._complaining_since is not None and now - self._complained_at >= CALM_SECONDS:
            seconds = round(self._complained_at - self._complaining_since, 1)
            if self._disturbance_logged:
                log.info("kafka.calm", after_seconds=seconds, messages=self._complaints)
            self._complaints, self._complaining_since = 0, None

    def _check_forever(self) -> None:
        while not self._closed:
            try:
                self.check()
            except Exception as error:  # a failed check must not end the thread
                log.warning("outages.look_failed", error=repr(error))
            busy = any(probe.disturbed for probe in self._probes) or self._complaining_since is not None
            if busy:
                time.sleep(AWAY_SECONDS)
            else:
                self._wake.wait(self._calm_seconds)
            self._wake.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._wake.set()
