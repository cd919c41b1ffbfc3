"""Attempts to execute the ranges of one partition: what runs, what has failed, when to try again. Pure.

Nothing that is promised depends on it: it paces the work.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from logpersister.ranges import Range


@dataclass(slots=True)
class Attempts:
    """Attempts at the promised ranges of one partition."""

    running: set[Range] = field(default_factory=set)
    again: bool = False
    """Whether ranges of the promise may have been executed before: by another process, or without success."""
    failures: int = 0
    """Failed executions in a row; ranges that fail together are one failure."""
    retry_at: float = 0.0
    _tried: bool = False
    """Whether a range was started since the last failure."""

    def begin(self, *, again: bool) -> None:
        """Begin with a new promise; what runs goes on."""
        self.again, self.failures, self.retry_at = again, 0, 0.0

    def started(self, range_: Range) -> None:
        self.running.add(range_)
        self._tried = True

    def succeeded(self, range_: Range) -> None:
        self.running.discard(range_)
        self.failures, self.retry_at = 0, 0.0

    def failed(self, range_: Range, retry_at: Callable[[int], float]) -> None:
        """Take in a failure; ``retry_at`` gives, by the number of failures in a row, when to try again."""
        self.running.discard(range_)
        self.failures += self._tried
        self._tried = False
        self.again = True
        self.retry_at = retry_at(self.failures)
