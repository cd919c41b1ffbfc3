"""Limit of requests to one host that run at once. Pure."""

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

Waiting = TypeVar("Waiting")


class HostLimit(Generic[Waiting]):
    """Lets so many requests to a host run, and others wait in their order."""

    def __init__(self, most: int, start: Callable[[Waiting], None]) -> None:
        self._most = most
        self._start = start
        self._running: dict[str, int] = defaultdict(int)
        self._waiting: dict[str, deque[Waiting]] = {}

    def ask(self, host: str, one: Waiting) -> None:
        """Start it, now or when another one of the host has ended."""
        if self._running[host] < self._most:
            self._running[host] += 1
            self._start(one)
        else:
            self._waiting.setdefault(host, deque()).append(one)

    def ended(self, host: str) -> None:
        """Let the next one of a host start."""
        waiting = self._waiting.get(host)
        if waiting:
            one = waiting.popleft()
            if not waiting:
                del self._waiting[host]
            self._start(one)
            return
        self._running[host] -= 1
        if not self._running[host]:
            del self._running[host]
