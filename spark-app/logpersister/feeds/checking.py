"""Asks each feed once, without Kafka, to see whether it has content."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from logpersister.feeds.collector import Collector
from logpersister.feeds.polled_feed import Outcome, PolledFeed
from logpersister.feeds.record import Record
from logpersister.feeds.transfers import Transfers


@dataclass(frozen=True, slots=True)
class Asked:
    """What a feed has answered."""

    feed: str
    reason: str
    """Why it has no content; empty: it has."""


class _Nobody:
    is_full = False

    def put(self, record: Record, forget: object) -> None: ...

    def began(self, late: float) -> None: ...

    def missed(self, slots: int) -> None: ...

    def ended(self, outcome: Outcome, seconds: float, size: int) -> None: ...


def ask_all(feeds: Sequence[PolledFeed], requests_per_host: int) -> Iterator[Asked]:
    """Ask all feeds now, and yield what they answer."""
    nobody = _Nobody()
    with closing(Transfers(len(feeds))) as transfers:
        collector = Collector(feeds, "check", requests_per_host, transfers, nobody, nobody)
        collector.begin_all(time.monotonic())
        while collector.running:
            collector.end_unasked()
            transfers.turn(1.0)
    for feed in feeds:
        yield Asked(feed.spec.id, feed.reason)
