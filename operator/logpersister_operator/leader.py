"""One operator acts, and never two: the one that holds the Lease. The others wait to take over.

Also a single replica takes it: the pod of an unreachable node, `kubectl scale` and a change of the number of replicas
put a second operator beside it.

Whoever holds the Lease and cannot renew it ends before others may begin, by three means. Before each write it looks at
the clock. A thread looks at the clock all the time and ends the process. And the kernel does that a moment later by an
alarm, also when no thread of Python gets to run, or this process was stopped and goes on.
"""

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import structlog

from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.lease import Candidate, TakenError, Terms, passed_seconds

log = structlog.get_logger(__name__)

STUCK_LEASES: Final = 4
"""So many times of a Lease without an attempt that ended: this one neither leads nor ever will."""
_LOOK_SECONDS: Final = 0.2
_LOST: Final = 1
"""Exit code of a leader that could not renew."""


class Leadership:
    """Holds the Lease as long as it is renewed; ends the process when that fails."""

    def __init__(self, candidate: Candidate, terms: Terms) -> None:
        self._candidate = candidate
        self._terms = terms
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for name, work in (("leader-renew", self._renew), ("leader-watchdog", self._watch))
        ]

    def begin(self) -> None:
        """Go on renewing; the Lease must have been taken."""
        self._arm()
        for thread in self._threads:
            thread.start()

    def check(self) -> None:
        """End the process unless it may still act: to be called before each write."""
        if self._candidate.until.left <= 0:
            if self._over.is_set():
                raise ClusterError("the Lease was released; nothing is written any more")
            _end("it was not renewed in time")

    def end(self) -> None:
        """Give the Lease back."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            self._candidate.release()
        except ClusterError as error:
            log.warning("leader.not_released", error=str(error))  # others wait until it has expired
        else:
            log.info("leader.released")

    def _renew(self) -> None:
        pause = self._terms.retry
        while not self._over.wait(pause):
            pause = self._terms.retry_failed
            try:
                self._candidate.attempt()
            except TakenError as error:
                _end(str(error))
            except Exception as error:  # noqa: BLE001 - whatever it is, it was not renewed
                log.warning("leader.not_renewed", error=str(error), seconds_left=round(self._candidate.until.left, 1))
            else:
                pause = self._terms.retry
                self._arm()

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            if self._candidate.until.left <= 0:
                _end("it was not renewed in time")

    def _arm(self) -> None:
        """Let the kernel end this process when the watchdog should have, and half of what is left has passed, too."""
        margin = (self._terms.lease - self._terms.renew) / 2
        signal.setitimer(signal.ITIMER_REAL, max(0.001, self._candidate.until.left + margin))


class Candidacy:
    """Waits for the Lease."""

    def __init__(self, candidate: Candidate, terms: Terms, clock: Callable[[], float] = passed_seconds) -> None:
        self._candidate = candidate
        self._terms = terms
        self._clock = clock
        self._others_lead = False

    def unready(self) -> str | None:
        """Return why this process cannot take over; None while another one leads."""
        return None if self._others_lead else "it has not taken the Lease, and has not seen another one hold it"

    def failure(self) -> str | None:
        """Return why this process must be restarted; None while it tries to lead, or leads."""
        age = self._clock() - self._candidate.attempted
        return f"the Lease has not been requested for {age:.0f} s" if age > STUCK_LEASES * self._terms.lease else None

    @contextmanager
    def lead(self, stop: threading.Event) -> Iterator[Leadership | None]:
        """Wait to become the leader, and lead as long as the block runs; None when ``stop`` comes first."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process
        last_error = ""
        while not stop.is_set():
            try:
                if self._candidate.attempt():
                    break
                self._others_lead = True
            except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
                if str(error) != last_error:
                    log.warning("leader.not_elected", error=str(error))
                last_error = str(error)
            stop.wait(self._terms.retry * random.uniform(1.0, 1.2))
        else:
            yield None
            return
        leadership = Leadership(self._candidate, self._terms)
        leadership.begin()
        log.info("leader.elected")
        try:
            yield leadership
        finally:
            leadership.end()


def _end(reason: str) -> NoReturn:
    """End at once, whatever other threads are at: nothing that is cleaned up may delay it."""
    try:
        log.error("leader.lost", reason=reason)
    finally:
        os._exit(_LOST)
