"""Decides about a range when something goes wrong: ask again after a pause, or fail."""

import structlog

from logpersister.backoff import Backoff
from logpersister.pipeline.reader.errors import ErrorKind, RangeReadError
from logpersister.pipeline.reader.fetch import RangeState
from logpersister.pipeline.reader.messages import Location, LogOffsets, Stats
from logpersister.pipeline.reader.settings import ReaderSettings

log = structlog.get_logger()

_LOUD_ATTEMPTS = 5
"""Failures in a row from which on retries are logged as warnings."""


def backoff_of(settings: ReaderSettings) -> Backoff:
    return Backoff(settings.backoff, settings.backoff_max)


class Retries:
    """Decides, counts and logs."""

    def __init__(self, settings: ReaderSettings, stats: Stats) -> None:
        self._settings, self._stats = settings, stats
        self._backoff = backoff_of(settings)

    def again(self, reason: str) -> None:
        """Ask again at once: the answer was no failure."""
        self._stats.retried(reason)

    def later(self, state: RangeState, reason: str, now: float) -> None:
        """Ask again after a pause that grows with each failure in a row."""
        self._stats.retried(reason)
        state.attempts += 1
        seconds = self._backoff.pause(state.attempts)
        state.not_before = now + seconds
        note = log.warning if state.attempts >= _LOUD_ATTEMPTS else log.debug
        note(
            "reader.retry",
            partition=str(state.request.range.partition),
            offset=state.position,
            reason=reason,
            attempts=state.attempts,
            seconds=round(seconds, 3),
        )

    def unknown(self, state: RangeState, name: str, now: float) -> None:
        """Retry a topic that the cluster does not know, until it is sure to be gone."""
        state.unknown_since = now if state.unknown_since is None else state.unknown_since
        if now - state.unknown_since < self._settings.unknown_topic_timeout:
            self.later(state, name, now)
        else:
            fail(state, "unknown-topic", f"{name}: the cluster does not have this topic or partition")

    def leaderless(self, state: RangeState, now: float) -> None:
        """Retry a partition without a leader, as long as an election takes."""
        state.leaderless_since = now if state.leaderless_since is None else state.leaderless_since
        if now - state.leaderless_since < self._settings.leaderless_timeout:
            self.later(state, "no-leader", now)
        else:
            reason = f"no leader for {now - state.leaderless_since:.0f} s: all replicas of the partition are away"
            fail(state, "kafka", reason, retriable=True)

    def corrupt(self, state: RangeState, reason: str, now: float) -> None:
        """Retry a damaged record batch a few times, each batch anew: long ranges may meet passing damage often."""
        if state.corrupt_at != state.position:
            state.corrupt_at, state.corruptions = state.position, 0
        state.corruptions += 1
        if state.corruptions > self._settings.corrupt_retries:
            fail(state, "corrupt", f"{reason} (fetched {state.corruptions} times)")
        else:
            self.later(state, "corrupt", now)

    def stalled(self, state: RangeState, location: Location) -> None:
        """Fail a range that waited too long."""
        seen = ", ".join(f"{count} {reason}" for reason, count in sorted(self._stats.retries.items())) or "none"
        leader = "unknown" if location.leader is None else f"broker {location.leader}"
        reason = f"no progress for {self._settings.stall_timeout:g} s; leader: {leader}; retries so far: {seen}"
        fail(state, "kafka", reason, retriable=True)


def fail(
    state: RangeState, kind: ErrorKind, reason: str, offsets: LogOffsets | None = None, *, retriable: bool = False
) -> None:
    """Give the range up; the consumer hears of it when it has consumed what came before."""
    state.asked = None  # what still comes would stand behind the error
    state.error = RangeReadError(
        kind,
        state.request.range.partition,
        state.position,
        reason,
        retriable=retriable,
        log_start=offsets.start if offsets else None,
        log_end=offsets.end if offsets else None,
    )
