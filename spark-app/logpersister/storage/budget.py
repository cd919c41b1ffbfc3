"""A bound for bytes that wait to be sent."""

import threading


class ByteBudget:
    """Bounds the bytes in use by `limit`; further demands wait. A single demand above the limit is let through alone.

    So memory stays bounded without a demand that could never be met.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._changed = threading.Condition()

    def take(self, amount: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._used == 0 or self._used + amount <= self._limit)
            self._used += amount

    def give_back(self, amount: int) -> None:
        with self._changed:
            self._used -= amount
            self._changed.notify_all()
