"""Progress of long work: a bar on a terminal; elsewhere a line of the log now and then."""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Self, TextIO, TypeVar

import structlog

from logpersister.report.human import duration, plural, size
from logpersister.report.status import MemberState, Status, StatusBoard

log = structlog.get_logger(__name__)

Item = TypeVar("Item")

TERMINAL_SECONDS = 0.5
LINES_SECONDS = 5.0
RATE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class RateEstimate:
    """How fast it goes, and how long it will take."""

    per_second: float
    seconds_left: float | None
    """None while it is not known how many are left."""


class RateMeter:
    """How fast records are stored, over half a minute or since the last but one change, whichever is longer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self._running = False

    def estimate(self, status: Status) -> RateEstimate | None:
        """Take note of what is stored now; return None before something is stored."""
        now, records = self._clock(), status.totals.records
        if not self._running and (not self._seen or records == 0):
            # Until it runs, time says nothing of its rate. Small topics may be stored before the first look at that.
            self._seen = deque([(now, records)])
        elif records != self._seen[-1][1]:
            self._seen.append((now, records))
        self._running = self._running or status.state not in (MemberState.STARTING, MemberState.JOINING)
        while len(self._seen) > 2 and now - self._seen[1][0] >= RATE_SECONDS:
            self._seen.popleft()
        began, before = self._seen[0]
        if records == before or now == began:
            return None
        per_second, remaining = (records - before) / (now - began), left(status)
        return RateEstimate(per_second, None if remaining is None else remaining / per_second)


def left(status: Status) -> int | None:
    """Return how many records are left; None while that is not known for each of the member's partitions."""
    lag = status.lag
    if lag is None or not status.assigned or lag.partitions < status.assigned:
        return None
    return lag.records


def done(status: Status, estimate: RateEstimate | None = None) -> str:
    """Say in one line how far the member is."""
    totals = status.totals
    objects = f"{plural(totals.objects, 'object')} ({size(totals.bytes)})"
    stored = f"{plural(totals.records, 'record')} stored in {objects}"
    if totals.quarantined:
        stored += f", {totals.quarantined:,} of them in quarantine"
    remaining = left(status)
    if estimate is not None:
        stored += f", {estimate.per_second:,.0f}/s"
    if remaining is None:
        return stored
    time_left = f", about {duration(estimate.seconds_left)}" if remaining and estimate is not None else ""
    return f"{stored}; {remaining:,} left{time_left}"


class ProgressReporter:
    """Shows a board until it is closed, on standard error.

    Used as a context manager around the member's run; `watch` is called with the board when there is one.
    """

    def __init__(self, out: TextIO | None = None, interval: float | None = None) -> None:
        self._out = sys.stderr if out is None else out
        terminal = self._out.isatty()
        self._interval = interval or (TERMINAL_SECONDS if terminal else LINES_SECONDS)
        self._display: _Bar | _Lines = _Bar(self._out) if terminal else _Lines()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._board: StatusBoard | None = None

    def watch(self, board: StatusBoard) -> None:
        self._board = board
        self._thread = threading.Thread(target=self._show_until_closed, name="progress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Show the end, and stop."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._display.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _show_until_closed(self) -> None:
        while not self._ended.wait(self._interval):
            self._show()
        self._show()

    def _show(self) -> None:
        if self._board is not None:
            self._display.show(self._board.snapshot())


def counted(items: Iterable[Item], what: str) -> Iterator[Item]:
    """Pass the items through; on a terminal say now and then how many there were so far."""
    out = sys.stderr
    # A table on the same terminal is progress enough, and would be torn by ours.
    if not out.isatty() or sys.stdout.isatty():
        yield from items
        return
    shown = time.monotonic()
    for index, item in enumerate(items):
        if time.monotonic() - shown >= 1:
            shown = time.monotonic()
            print(f"\r{index:,} {what}", end="", file=out, flush=True)
        yield item
    print("\r\033[K", end="", file=out, flush=True)


class _Lines:
    def __init__(self) -> None:
        self._last: dict[str, object] = {}
        self._rate_meter = RateMeter()

    def show(self, status: Status) -> None:
        totals, estimate = status.totals, self._rate_meter.estimate(status)
        fields: dict[str, object] = {
            "state": str(status.state),
            "records": totals.records,
            "objects": totals.objects,
            "bytes": totals.bytes,
            "left": left(status),
        }
        if totals.quarantined:
            fields["quarantined"] = totals.quarantined
        if fields != self._last:
            self._last = fields
            log.info("member.progress", **fields, **_estimate_fields(estimate))

    def close(self) -> None:
        """Nothing to put back."""


def _estimate_fields(estimate: RateEstimate | None) -> dict[str, object]:
    if estimate is None:
        return {}
    seconds = estimate.seconds_left
    return {
        "records_per_second": round(estimate.per_second),
        **({} if seconds is None else {"seconds_left": round(seconds)}),
    }


class _Bar:
    def __init__(self, out: TextIO) -> None:
        # Only here: importing rich takes longer than everything else that a pipe needs.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            Progress,
            SpinnerColumn,
            TaskProgressColumn,
            TextColumn,
        )

        # rich takes over sys.stderr while the bar is shown; the log writes to whatever that is (report/logs.py).
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=12),
            TaskProgressColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(file=out),
            redirect_stdout=False,
        )
        self._rate_meter = RateMeter()
        self._task = self._progress.add_task("starting", total=None)
        self._progress.start()

    def show(self, status: Status) -> None:
        stored = status.totals.records
        remaining = left(status)
        total = None if remaining is None else max(1, stored + remaining)
        completed = total if remaining == 0 else stored
        self._progress.update(
            self._task, description=done(status, self._rate_meter.estimate(status)), total=total, completed=completed
        )

    def close(self) -> None:
        self._progress.stop()
