"""Watches the Spark of a member. Spark that ended although nobody asked fails the probe and ends the member."""

import threading
import time
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Protocol, Self

import structlog

from logpersister.report.facts import RunningJob
from logpersister.report.health import Probe
from logpersister.report.status import StatusBoard
from logpersister.stopping import Stop

log = structlog.get_logger(__name__)

ASK_SECONDS = 10.0
WARM_UP_SECONDS = 60.0
"""How long a member waits for Spark before it joins: executors may have to wait for a node."""


class SparkLostError(Exception):
    """Spark runs nothing any more, and only a new process has another one."""


class WatchedSpark(Protocol):
    """What the watch asks; each raises or blocks when the JVM is not there."""

    @property
    def executors(self) -> int | None: ...

    def answers(self) -> bool: ...

    def running(self) -> tuple[RunningJob, ...]: ...


class SparkWatch(AbstractContextManager["SparkWatch"]):
    """Asks Spark from a thread of its own, from entering to leaving the block.

    The probe beats as long as Spark's JVM answers and its context runs. Spark stops its context by itself, for example
    when more executors have failed than `spark.executor.maxNumFailures`.
    """

    def __init__(
        self, spark: WatchedSpark, probe: Probe, board: StatusBoard, stop: Stop, ask_seconds: float = ASK_SECONDS
    ) -> None:
        self._spark = spark
        self._probe = probe
        self._board = board
        self._stop = stop
        self._ask_seconds = ask_seconds
        self._closed = threading.Event()
        self._lost: SparkLostError | None = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="spark-health", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()  # not joined: a JVM that hangs would keep the member from ending
        if self._lost is None:
            self._probe.stop()

    def raise_if_lost(self) -> None:
        """Raise SparkLostError once Spark has ended although nobody asked."""
        if self._lost is not None:
            raise self._lost

    def _watch(self) -> None:
        while not self._closed.is_set():
            error = self._ask()
            if error:
                if self._closed.is_set() or self._stop.asked:  # a supervisor's signal may reach the JVM, too
                    self._probe.stop()
                    return
                self._probe.fail(error)
                self._lost = SparkLostError(error)
                self._stop.wake.set()
                return
            self._closed.wait(self._ask_seconds)

    def _ask(self) -> str:
        """Ask once; return why this Spark is of no use any more, empty when it is."""
        try:
            if not self._spark.answers():
                return "Spark has stopped by itself; spark.error events of the log say why"
            self._probe.beat()
            self._board.executors(self._spark.executors)
            self._board.running(self._spark.running())
        except Exception as error:
            return f"Spark does not answer: {error!r}"
        return ""


def warm_up(warm: "Future[int]", stop: Stop, seconds: float = WARM_UP_SECONDS) -> None:
    """Wait until Spark runs tasks, before partitions come to this member and would wait for it instead."""
    started = time.monotonic()
    warm.add_done_callback(lambda _: stop.wake.set())
    while not warm.done() and not stop.asked and (left := started + seconds - time.monotonic()) > 0:
        stop.wake.wait(left)
        stop.wake.clear()
    waited = round(time.monotonic() - started, 1)
    error = warm.exception() if warm.done() else None
    if warm.done() and error is None:
        log.info("spark.warm", seconds=waited)
    elif not stop.asked:
        log.warning("spark.not_warm", seconds=waited, error=repr(error) if error else "no task has run yet")
