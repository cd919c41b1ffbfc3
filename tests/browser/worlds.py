"""A member, a collector and an operator with six known hours behind them, and their pages over HTTP."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from logpersister.feeds.glance import CollectorSource
from logpersister.feeds.reports import FeedMetrics, Parts
from logpersister.feeds.reports import status_document as feeds_document
from logpersister.feeds.sender import SentCounts
from logpersister.feeds.spool import Spool
from logpersister.pages.site import Site
from logpersister.ranges import Range
from logpersister.report.document import status_document, status_of
from logpersister.report.facts import HeldPartition, RangeFailed
from logpersister.report.health import Health
from logpersister.report.server import Endpoints, ReportServer
from logpersister.report.status import MemberState, StatusBoard
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.metrics import Metrics as OperatorMetrics
from logpersister_operator.pages.endpoints import OperatorEndpoints
from tests.unit.feeds.test_polled_feed import NOON, answer, feed, taken
from tests.unit.pages.operator_world import REVISION, OperatorWorld, replica
from tests.unit.pages.test_site import World
from tests.unit.report.samples import IDENTITY, partition, partly_refused, written

HOURS: Final = 6
LONG: Final = "com.example.analytics.web." + "a-very-long-name-of-a-topic." * 6 + "v2"
PEAK: Final = 1_000
"""Lag of the topic ``ramp`` at the end; it was 0 at the beginning."""
TIMEOUT: Final = 10.0


def wave(turn: int, turns: int, high: float, times: int = 4) -> float:
    """Return a value between 0 and ``high`` that comes and goes ``times`` times."""
    return high * (1 - math.cos(2 * math.pi * times * turn / turns)) / 2


@contextmanager
def member() -> Iterator[str]:
    """Serve the pages of a member: topics that are current, wait, are held, have a long name; failures, quarantine."""
    world, turns = World(), HOURS * 120 - 1
    board = world.board
    board.state(MemberState.RUNNING)
    board.assigned([partition(topic, number) for topic in ("clicks", "orders", "ramp", LONG) for number in range(6)])
    for turn in range(turns + 1):
        lags = {"clicks": round(wave(turn, turns, 40_000)), "orders": 0, "ramp": PEAK * turn // turns, LONG: 12}
        world.lag(**lags)
        for topic in ("clicks", "orders", "ramp"):
            world.store(topic, 1_000 * turn, 300 + round(wave(turn, turns, 200, 2)))
        if turn % 60 == 0:
            failure = Range(partition("clicks", turn % 6), 1_000 * turn, 1_000 * turn + 900)
            board.range_failed(
                RangeFailed(failure, "throttled", "the bucket asks to slow down (SlowDown)", upload=True)
            )
        world.site.look()
        if turn < turns:
            world.clock.forward(30)
    for start, reason in ((500, "EOF while parsing"), (600, "EOF while parsing"), (700, "missing field `user`")):
        board.range_written(partly_refused(start, reason=reason))
    gone = "offsets 12 to 15 were deleted by Kafka; kubectl logpersister acknowledge clicks-backup"
    board.held([HeldPartition(partition("payments", 3), "data-lost", gone)])
    with ReportServer("127.0.0.1:0", Endpoints(world.metrics, status_of(board), Health(), world.site)) as server:
        yield f"http://{server.address}"


@contextmanager
def starting_member() -> Iterator[str]:
    """Serve the pages of a member of which nothing is known yet."""
    world = World()
    with ReportServer("127.0.0.1:0", Endpoints(world.metrics, status_of(world.board), Health(), world.site)) as server:
        yield f"http://{server.address}"


@contextmanager
def crowded_member() -> Iterator[str]:
    """Serve the pages of a member with many topics."""
    world = World()
    for number in range(1_010):
        world.store(f"events.of.team-{number % 37}.{number:04}", records=number)
    world.lag(**{f"events.of.team-{number % 37}.{number:04}": number % 5 for number in range(1_010)})
    for _ in range(3):
        world.site.look()
        world.clock.forward(30)
    with ReportServer("127.0.0.1:0", Endpoints(world.metrics, status_of(world.board), Health(), world.site)) as server:
        yield f"http://{server.address}"


@contextmanager
def collector(folder: Path) -> Iterator[str]:
    """Serve the pages of a collector: feeds that work, fail, are silent, were not polled."""
    names = ("prices-eu", "prices-us", "weather", "status-page", "not-polled-yet")
    feeds = [feed(name, timeout=f"{TIMEOUT:.0f}s", periodicity="30s") for name in names]
    spool, sent = Spool(folder / "spool", 2**20, "dropOldest"), SentCounts()
    sent.away, sent.sent = None, 4_321
    parts = Parts(feeds, spool, sent)
    metrics = FeedMetrics("prices", "one", parts)
    now, turns = 0.0, HOURS * 120 - 1
    source = CollectorSource("prices", "one", metrics, parts, lambda: now, lambda: NOON + now)
    site = Site(source, clock=lambda: NOON + now)
    for turn in range(turns + 1):
        now = 30.0 * turn
        for one in feeds[:-1]:
            status = 503 if one.spec.id == "weather" and turn > turns - 20 else 200
            body = str(turn // 3).encode() if one.spec.id != "status-page" else b"always the same"
            seconds = 0.2 + wave(turn, turns, TIMEOUT / 2) if one.spec.id == "prices-eu" else 0.15
            metrics.totals[taken(one, replace(answer(body, status), seconds=seconds), now).result] += 1
        site.look()
    feeds[3].is_silent = True
    document = partial(feeds_document, "prices", "one", NOON, metrics, parts)
    try:
        with ReportServer("127.0.0.1:0", Endpoints(metrics, document, Health(), site)) as server:
            yield f"http://{server.address}"
    finally:
        spool.close()


@contextmanager
def operator() -> Iterator[str]:
    """Serve the pages of an operator: groups of three namespaces, one with failing uploads, one in a rollout."""
    world, turns = OperatorWorld(), HOURS * 60 - 1
    for turn in range(turns + 1):
        _groups(world, turn, turns)
        _collector(world, turn, turns)
        world.site.look()
        if turn < turns:
            world.clock.forward(60)
    world.replay("web/again", "Running", summary={"rate": "3.0MiB/s", "left": "2h10m"})
    with ReportServer("127.0.0.1:0", OperatorEndpoints(OperatorMetrics(), world.site)) as server:
        yield f"http://{server.address}"


def _groups(world: OperatorWorld, turn: int, turns: int) -> None:
    now, clicks = world.clock.now(), round(wave(turn, turns, 40_000))
    world.group("shop/clicks-backup", lag=(clicks, clicks / 50), stored=1_000 + 4 * turn)
    world.group("shop/orders-parquet", lag=(0, 0.0), stored=500 + turn)
    unreachable = "the bucket does not answer: connection refused by s3.example.com:443; it is retried"
    wrong = {Aspect.UPLOADS_SUCCEEDING: ("False", "Unreachable", unreachable)}
    failures = max(0, turn - turns + 30)
    world.group(
        "payments/ledger",
        wrong=wrong if failures else None,
        lag=(900 * failures, 60.0 * failures),
        stored=2_000 + 2 * (turn - failures),
        uploads={"failures": 2 * failures, "failuresLastHour": 2 * failures},
        reports=_reports(world) if failures else None,
        quarantine={"records": 7, "last": now},
    )
    is_rolling = turn > turns // 2
    phases = {"stable": REVISION, "candidate": "77aa88bb99cc"} if is_rolling else {"stable": REVISION}
    step = min(2, (turn - turns // 2) // 60)
    going = {
        "phase": ("Canary", "Rolling", "Rolling")[step] if is_rolling else "Steady",
        "step": step if is_rolling else 0,
    }
    since = now - timedelta(minutes=(turn - turns // 2) % 60) if is_rolling else now - timedelta(minutes=turn)
    world.group(
        "web/access-logs",
        wrong={
            Aspect.READY: ("False", "RollingOut", "from revision 0a1b2c3d4e5f to revision 77aa88bb99cc: Rolling 1/2")
        }
        if is_rolling
        else None,
        lag=(round(wave(turn, turns, 3_000, 6)), 20.0),
        stored=9_000 + 6 * turn,
        rollout={"since": since, **going, **phases},
        summary={"members": "1/2+1", "state": "Rolling 1/2"}
        if is_rolling
        else {"members": "2/2", "state": "MembersReady"},
    )
    world.group(
        "web/search-queries", lag=None, wrong={Aspect.LAG_WITHIN_TARGET: ("Unknown", "LagUnknown", "not asked")}
    )


def _collector(world: OperatorWorld, turn: int, turns: int) -> None:
    """One of two replicas does not reach Kafka for the last half an hour; one feed is silent, one fails."""
    away, silent, failing = max(0, turn - turns + 30), feed("status-page"), feed("weather")
    silent.is_silent = True
    taken(failing, answer(status=503))
    polls = {"new": 90 * turn + round(wave(turn, turns, 600)), "unchanged": 150 * turn, "failed": 4 * turn}
    said = (
        replica(0, polls=polls, sent=90 * turn, feeds=[silent, failing]),
        replica(1, polls=polls, sent=90 * (turn - away), waiting=90 * away, feeds=[silent],
                away="kafka:9092 refuses connections" if away else None),
    )  # fmt: skip
    wrong = {
        Aspect.FEEDS_SPEAKING: ("False", "FeedsSilent", "1 of 40 feeds give nothing new: status-page (nothing new)")
    }
    world.collector(wrong=wrong, silent=1, waiting=90 * away, said=said)


def _reports(world: OperatorWorld) -> dict[str, dict[str, object] | str]:
    board = StatusBoard(IDENTITY, world.clock.now)
    board.state(MemberState.RUNNING)
    for start in range(0, 10_000, 1_000):
        board.range_written(written("ledger", 1, start, 1_000))
    board.range_written(partly_refused())
    message = "connection refused by s3.example.com:443"
    board.range_failed(RangeFailed(Range(partition("ledger", 2), 10_000, 11_000), "unreachable", message, upload=True))
    return {
        f"ledger-{REVISION}-0": status_document(board.snapshot()),
        f"ledger-{REVISION}-1": "it did not answer in time",
    }
