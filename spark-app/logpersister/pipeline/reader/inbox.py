"""Inbox for answers, with the only clock of the reader: tests put a simulated one in its place."""

import queue
import time
from collections.abc import Callable

Event = Callable[[], None]


class Inbox:
    """Events for one thread, put by any."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def now(self) -> float:
        """Return seconds on the monotonic clock."""
        return time.monotonic()

    def put(self, event: Event) -> None:
        self._events.put(event)

    def wait(self, seconds: float) -> Event | None:
        """Return the next event, or None when there was none for ``seconds`` (0: do not wait)."""
        try:
            return self._events.get(timeout=seconds) if seconds > 0 else self._events.get_nowait()
        except queue.Empty:
            return None
