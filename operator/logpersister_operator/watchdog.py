"""A watchdog of the event loop and of the pool that reconciles: tasks of its own take the way of the others."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

PERIOD_SECONDS: Final = 1.0
LIMIT_SECONDS: Final = 120.0
"""Reconciliations have deadlines, so a pool that is only busy has a free thread again before that."""
LOOP_SECONDS: Final = 30.0
"""Nothing in the event loop takes longer."""


class Watchdog:
    """A task of the event loop that notes each turn, and when its last task came through the pool."""

    def __init__(self, pool: ThreadPoolExecutor, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._clock = clock
        self._turned = self._passed = clock()

    def failure(self) -> str | None:
        """Return why the operator must be restarted; None while it lives."""
        turned, passed = self._clock() - self._turned, self._turned - self._passed
        if turned > LOOP_SECONDS:
            return f"the event loop has not turned for {turned:.0f} s"
        if passed > LIMIT_SECONDS:
            return f"no reconciliation has begun for {passed:.0f} s: all threads are blocked"
        return None

    async def run(self) -> None:
        sent: Future[None] | None = None
        while True:
            now = self._clock()
            if sent is None or sent.done():
                self._passed, sent = now, self._pool.submit(lambda: None)
            self._turned = now
            await asyncio.sleep(PERIOD_SECONDS)
