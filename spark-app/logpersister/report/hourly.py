"""Counts events within the last hour. Pure."""

from collections import deque
from datetime import datetime


class HourlyCount:
    """Events of the last 60 minutes in 61 minute-buckets: constant size, exact to the minute."""

    def __init__(self) -> None:
        self._buckets: deque[tuple[int, int]] = deque()

    def add(self, now: datetime) -> None:
        minute = int(now.timestamp()) // 60
        if self._buckets and self._buckets[-1][0] >= minute:
            last, count = self._buckets.pop()
            self._buckets.append((last, count + 1))
        else:
            self._buckets.append((minute, 1))
        self._forget(minute)

    def count(self, now: datetime) -> int:
        self._forget(int(now.timestamp()) // 60)
        return sum(count for _, count in self._buckets)

    def _forget(self, minute: int) -> None:
        while self._buckets and self._buckets[0][0] <= minute - 60:
            self._buckets.popleft()
