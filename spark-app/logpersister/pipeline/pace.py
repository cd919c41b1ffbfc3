"""Holds a reader back, so that it reads no more than some bytes a second."""

import time
from collections.abc import Callable


class Pace:
    """Bytes that one task may read in a second. What it did not read before does not count: there are no bursts."""

    def __init__(
        self,
        bytes_per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = bytes_per_second
        self._clock, self._sleep = clock, sleep
        self._free_at = float("-inf")

    def spend(self, size: int) -> None:
        """Take note of bytes that were read; return when the next may be."""
        now = self._clock()
        self._free_at = max(self._free_at, now) + size / self._rate
        self._sleep(self._free_at - now)
