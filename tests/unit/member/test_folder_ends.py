"""``finish.storeAtEnd``: what waits is stored when a folder is over, and what comes late at the next end."""

from datetime import UTC, datetime, timedelta
from typing import Any

from logpersister.manifest import LogPersister
from logpersister.member.end_offsets import EndOffsetMonitor
from logpersister.plan.age import AgeWatch
from tests.unit.manifest.documents import accepted
from tests.unit.member.fakes import CLICKS

TEN = datetime(2026, 11, 21, 10, tzinfo=UTC)


def minutes(number: float) -> float:
    """Return seconds since the epoch, so many minutes after ten o'clock."""
    return (TEN + timedelta(minutes=number)).timestamp()


def resource(**finish: Any) -> LogPersister:
    hours = [{"date": {"granularity": "hour"}}]
    settings = {"allowedLateness": "5m", "storeAtEnd": True} | finish
    return accepted({"spec.finish": settings, "spec.output.partitionBy": hours, "spec.upload.maxAge": "2h"})


class Waiting:
    """A partition of which a record waits."""

    def __init__(self, of: LogPersister, *, time: float, seen: float) -> None:
        self.time = seen
        self.monitor = EndOffsetMonitor(of, None, None, now=lambda: minutes(self.time))  # type: ignore[arg-type]
        ages: AgeWatch = self.monitor._ages
        ages.observe(CLICKS, 0, 1, minutes(seen), 7200)
        ages.learn(CLICKS, minutes(time))

    def is_due(self, at: float) -> bool:
        self.time = at
        return self.monitor.is_aged(CLICKS)


def test_what_waits_is_due_when_its_folder_is_over() -> None:
    waiting = Waiting(resource(), time=50, seen=51)
    assert [waiting.is_due(at) for at in (55, 64.9, 65, 90)] == [False, False, True, True]


def test_what_comes_late_waits_for_the_next_end_at_most() -> None:
    waiting = Waiting(resource(), time=50, seen=66)
    assert [waiting.is_due(at) for at in (66, 124.9, 125)] == [False, False, True]
