"""Watchdogs of the pool that reconciles and of the event loop: tasks of their own take the way of the others."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

PERIOD_SECONDS: Final = 10.0
LIMIT_SECONDS: Final = 120.0
"""Reconciliations have deadlines, so a pool that is only busy has a free thread again before that."""
LOOP_SECONDS: Final = 30.0
"""Nothing in the event loop takes longer."""


class EventLoopWatchdog:
    """A task of an event loop that notes each turn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turned = clock()

    def failure(self) -> str | None:
        """Return why the operator must be restarted; None while it lives."""
        age = self._clock() - self._turned
        return f"the event loop has not turned for {age:.0f} s" if age > LOOP_SECONDS else None

    async def run(self) -> None:
        while True:
            self._turned = self._clock()
            await asyncio.sleep(1.0)


class WorkerPoolWatchdog:
    """Sends an empty task through the pool now and then, and knows when the last task came through."""

    def __init__(self, pool: ThreadPoolExecutor, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._clock = clock
        self._passed = clock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    def failure(self) -> str | None:
        """Return why the operator must be restarted; None while it lives."""
        age = self._clock() - self._passed
        return f"no reconciliation has begun for {age:.0f} s: all threads are blocked" if age > LIMIT_SECONDS else None

    def _run(self) -> None:
        while not self._ended.wait(PERIOD_SECONDS):
            passed = threading.Event()
            self._pool.submit(passed.set)
            while not passed.wait(1.0):
                if self._ended.is_set():
                    return
            self._passed = self._clock()
