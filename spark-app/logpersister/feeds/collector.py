"""The loop that polls: it starts what is due, takes what has come, and never waits for one feed."""

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

import structlog

from logpersister.feeds.exchange import MOST_REDIRECTS, Answer, Request, redirected
from logpersister.feeds.hosts import HostLimit
from logpersister.feeds.polled_feed import Outcome, PolledFeed
from logpersister.feeds.record import Record
from logpersister.forms.problems import ManifestError

log = structlog.get_logger(__name__)

LONGEST_TURN: Final = 0.25
"""Seconds; a stop that is asked for is noticed after this."""
BROKEN: Final = "an error of the collector itself; the log has it"
FULL_TURN: Final = 0.005
"""Seconds until it is looked again whether memory is free."""


class Transferring(Protocol):
    """What sends requests (`feeds.transfers`)."""

    @property
    def is_full(self) -> bool: ...

    def start(self, request: Request, done: Callable[[Answer], None]) -> None: ...

    def turn(self, seconds: float) -> None: ...


class Taking(Protocol):
    """What takes records (`feeds.intake`)."""

    @property
    def is_full(self) -> bool: ...

    def put(self, record: Record, forget: Callable[[], object]) -> None: ...


class Noting(Protocol):
    """What counts polls (`feeds.reports`)."""

    def began(self, late: float) -> None: ...

    def missed(self, slots: int) -> None: ...

    def ended(self, outcome: Outcome, seconds: float, size: int) -> None: ...


class Collector:
    """All feeds of one replica. For one thread."""

    def __init__(
        self,
        feeds: Sequence[PolledFeed],
        replica: str,
        requests_per_host: int,
        transfers: Transferring,
        intake: Taking,
        notes: Noting,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.feeds = feeds
        self.running = 0
        """Polls that are due and have not ended."""
        self._replica = replica
        self._transfers = transfers
        self._intake = intake
        self._notes = notes
        self._clock = clock
        self._wall = wall
        self._hosts: HostLimit[PolledFeed] = HostLimit(requests_per_host, self._begin)
        self._unasked: list[tuple[PolledFeed, str]] = []
        """Feeds whose request could not be made, and why."""
        now, today = clock(), wall()
        self._due = [(feed.slots.due(now, today, None), place) for place, feed in enumerate(feeds)]
        heapq.heapify(self._due)
        self._places = {feed.spec.id: place for place, feed in enumerate(feeds)}

    def turn(self) -> None:
        """Start what is due, and wait for servers until something else is."""
        self.end_unasked()
        now = self._clock()
        is_full = self._intake.is_full or self._transfers.is_full
        while self._due and self._due[0][0] <= now and not is_full:
            self._take_turn(*heapq.heappop(self._due))
        following = self._due[0][0] - self._clock() if self._due else LONGEST_TURN
        self._transfers.turn(max(FULL_TURN if is_full else 0.0, min(following, LONGEST_TURN)))

    def end_unasked(self) -> None:
        """End polls whose request could not be made."""
        while self._unasked:
            feed, reason = self._unasked.pop()
            self._end(feed, Answer(0, error=reason))

    def begin_all(self, now: float) -> None:
        """Start all feeds now, whenever they are due."""
        places, self._due = [place for _, place in self._due], []
        for place in places:
            self._take_turn(now, place)

    def look(self) -> None:
        """Find feeds that have become silent, or have spoken again."""
        now = self._clock()
        for feed in self.feeds:
            overdue = feed.is_overdue(now)
            if overdue != feed.is_silent:
                feed.is_silent = overdue
                if overdue:
                    seconds = round(now - feed.new_since)
                    log.warning("feed.silent", feed=feed.spec.id, seconds=seconds, reason=feed.reason or "nothing new")
                else:
                    log.info("feed.speaks", feed=feed.spec.id)

    def _take_turn(self, due: float, place: int) -> None:
        feed = self.feeds[place]
        feed.due = due
        self.running += 1
        self._hosts.ask(feed.host, feed)

    def _begin(self, feed: PolledFeed) -> None:
        assert feed.due is not None
        self._notes.began(self._clock() - feed.due)
        try:
            request = feed.request()
            self._transfers.start(request, partial(self._answered, feed, request, 0, 0.0))
        except ManifestError as error:  # a Secret that is missing: it may come
            reason = str(error)
            if reason != feed.reason:
                log.warning("feed.refused", feed=feed.spec.id, reason=reason)
            self._unasked.append((feed, reason))
        except Exception:
            log.exception("feed.broken", feed=feed.spec.id)
            self._unasked.append((feed, BROKEN))

    def _answered(self, feed: PolledFeed, request: Request, redirects: int, seconds: float, answer: Answer) -> None:
        answer = replace(answer, seconds=seconds + answer.seconds)
        try:
            following = redirected(request, answer) if redirects < MOST_REDIRECTS else None
            if following is not None:
                done = partial(self._answered, feed, following, redirects + 1, answer.seconds)
                self._transfers.start(following, done)
                return
        except Exception:  # a server chooses the address: it must not end the polls of others
            log.exception("feed.broken", feed=feed.spec.id)
            answer = Answer(0, error=BROKEN, seconds=answer.seconds)
        self._end(feed, answer)

    def _end(self, feed: PolledFeed, answer: Answer) -> None:
        self._hosts.ended(feed.host)
        now, wall = self._clock(), self._wall()
        try:
            outcome = feed.take(answer, self._replica, now, wall)
        except Exception:
            log.exception("feed.broken", feed=feed.spec.id)
            outcome = feed.take(Answer(0, error=BROKEN), self._replica, now, wall)
        if outcome.record is not None:
            self._intake.put(outcome.record, feed.forget)
        self._notes.ended(outcome, answer.seconds, len(answer.body))
        log.debug("feed.polled", feed=feed.spec.id, result=outcome.result, reason=outcome.reason)
        self.running -= 1
        self._plan(feed, now, wall)

    def _plan(self, feed: PolledFeed, now: float, wall: float) -> None:
        assert feed.due is not None
        rest = max(0.0, feed.resumes - now)
        due = feed.slots.due(now + rest, wall + rest, feed.due)
        if not rest:
            self._notes.missed(feed.slots.missed(feed.due, due))
        heapq.heappush(self._due, (due, self._places[feed.spec.id]))
