"""Counts requests that a worker tried again, until it tells the driver."""

import threading
from collections import Counter
from collections.abc import Mapping


class RetryTally:
    """Retries by reason since they were last taken. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._watched: list[tuple[Mapping[str, int], Counter[str]]] = []

    def count(self, reason: str) -> None:
        with self._lock:
            self._counts[reason] += 1

    def watch(self, totals: Mapping[str, int]) -> None:
        """Count what is added to these totals from now on."""
        with self._lock:
            self._watched.append((totals, Counter(dict(totals))))

    def take(self) -> dict[str, int]:
        """Return the counts and begin anew."""
        with self._lock:
            taken, self._counts = self._counts, Counter()
            for index, (totals, seen) in enumerate(self._watched):
                now = Counter(dict(totals))  # one step, whoever counts meanwhile
                taken += now - seen
                self._watched[index] = (totals, now)
        return dict(taken)
