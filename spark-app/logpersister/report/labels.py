"""Label values of metrics whose number is bounded, whatever the data brings. Pure."""

import threading

OTHER = "other"
"""What the values above the bound are counted under."""


class BoundedValues:
    """The first `limit` distinct values are labels of their own, later ones share `OTHER`.

    Kinds and reasons come from errors on executors, topics from a pattern that may match any number of them: without
    a bound each new word would be a new time series for ever.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, value: str) -> str:
        with self._lock:
            if value in self._known:
                return value
            if len(self._known) < self._limit:
                self._known.add(value)
                return value
            return OTHER
