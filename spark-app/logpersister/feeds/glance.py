"""The pages of a collector: its feeds. All of it comes from its feeds, its counts and its spool."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from logpersister.feeds.polled_feed import RESULTS, PolledFeed
from logpersister.feeds.reports import FeedMetrics, Parts
from logpersister.pages.figures import a_minute, rounded
from logpersister.pages.history import WHOLE, History, Reading
from logpersister.pages.svg import Mark
from logpersister.pages.views import (
    NO_PLOTS,
    OF_PROCESS,
    Cell,
    Figure,
    Page,
    Table,
    Wanted,
    alarm,
    link_to,
    part_of,
    plots,
    sparkline,
    when,
    without_plots,
)
from logpersister.report.human import duration, number, plural, size


def _took(value: float | None) -> str:
    return duration(value) if value is None or value >= 1 else f"{value * 1000:.0f} ms"


_DURATION: Final = Figure("seconds", "Duration of polls", _took)
_POLLS: Final = tuple(Figure(result, f"{result.capitalize()} polls", a_minute) for result in RESULTS)
_WAITING: Final = Figure("waiting", "Records that wait on the disk", rounded)
_HEADER: Final = ("feed", "state", "newest content", "last poll took", *RESULTS, "reason", "duration before")
_NUMBERS: Final = ("last poll took", *RESULTS)


class CollectorSource:
    """What a collector knows of its feeds."""

    word: Final = "feeds"
    depth: Final = 1
    paths: Final = OF_PROCESS

    def __init__(
        self,
        collector: str,
        replica: str,
        metrics: FeedMetrics,
        parts: Parts,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.name: Final = f"{collector} ({replica})"
        self.folders: Final = {self.word: self._feed}
        self._metrics = metrics
        self._parts = parts
        self._clock = clock
        self._wall = wall
        self._feeds: Final = {feed.spec.id: feed for feed in parts.feeds}

    def readings(self) -> Mapping[str, Reading]:
        def of_polls(counts: Mapping[Any, int]) -> dict[str, float]:
            return {result: counts[result] for result in RESULTS}

        found = {
            feed: Reading({"seconds": one.seconds}, of_polls(one.polls), 2.0 * one.is_silent + bool(one.reason))
            for feed, one in self._feeds.items()
        }
        found[WHOLE] = Reading({"waiting": self._parts.spool.fill.entries}, of_polls(self._metrics.totals))
        return found

    def home(self, history: History, wanted: Wanted) -> Page:
        def trouble(feed: str) -> tuple[bool, bool, str]:
            one = self._feeds[feed]
            return not one.is_silent, not one.reason, feed

        feeds, page, pages = part_of(sorted(self._feeds, key=trouble), wanted.page)
        return Page(
            title=f"Collector {self.name}",
            state=self._state(),
            facts=self._facts(),
            plots=plots(history, WHOLE, (*_POLLS, _WAITING)),
            tables=(
                Table("Feeds", _HEADER, [self._row(history, feed) for feed in feeds], "Since the start.", _NUMBERS),
            ),
            notes=without_plots(history, "feed"),
            number=page,
            pages=pages,
        )

    def _feed(self, history: History, name: str) -> Page | None:
        feed = self._feeds.get(name)
        if feed is None:
            return None
        timeout = Mark("timeout", feed.spec.timeout.total_seconds())
        drawn = plots(history, name, (_DURATION, *_POLLS), {_DURATION.name: timeout})
        polls = [(result, number(feed.polls[result])) for result in RESULTS]
        return Page(
            title=f"Feed {name}",
            state=_state(feed),
            facts=(
                ("Server", feed.host),
                ("Every", duration(feed.spec.periodicity.total_seconds())),
                ("Silent after", duration(feed.spec.silent_after.total_seconds())),
                ("Newest content", self._new(feed)),
                ("Last poll took", _took(feed.seconds)),
                ("Pauses for", duration(max(0.0, feed.resumes - self._clock()))),
                ("Problem", feed.reason or "none"),
            ),
            plots=drawn,
            tables=(
                Table("Polls by result", ("result", "polls"), polls, "Since the start of the process.", ("polls",)),
            ),
            notes=() if drawn else (NO_PLOTS,),
        )

    def _row(self, history: History, name: str) -> tuple[str | Cell, ...]:
        feed = self._feeds[name]
        return (
            link_to(self.word, name),
            _state(feed),
            self._new(feed),
            _took(feed.seconds),
            *(number(feed.polls[result]) for result in RESULTS),
            feed.reason,
            sparkline(history, name, _DURATION),
        )

    def _state(self) -> Cell:
        away, silent, failing = self._parts.sent.away, self._parts.silent, self._parts.failing
        if away is not None:
            return Cell(f"Kafka is away: {away}", "bad")
        if silent:
            return Cell(f"{plural(silent, 'feed')} silent, {number(failing)} failing", "bad")
        return Cell(f"{plural(failing, 'feed')} failing", "warning") if failing else Cell("All feeds work", "good")

    def _facts(self) -> tuple[tuple[str, str | Cell], ...]:
        fill, sent = self._parts.spool.fill, self._parts.sent
        return (
            ("Feeds", number(len(self._feeds))),
            ("Silent", alarm(self._parts.silent)),
            ("Failing", alarm(self._parts.failing)),
            ("Polls missed", alarm(self._metrics.totals["missed"])),
            ("Records sent", number(sent.sent)),
            ("Records refused by Kafka", alarm(sent.refused)),
            ("Waiting on the disk", f"{number(fill.entries)} records, {size(fill.bytes)}"),
            ("Dropped", alarm(fill.dropped)),
        )

    def _new(self, feed: PolledFeed) -> str:
        new_at = feed.new_at(self._clock(), self._wall())
        return when(None if new_at is None else datetime.fromtimestamp(new_at, UTC))


def _state(feed: PolledFeed) -> Cell:
    if feed.is_silent:
        return Cell("silent", "bad")
    if feed.seconds is None:
        return Cell("not polled yet")
    return Cell("failing", "warning") if feed.reason else Cell("working", "good")
