"""What plots are made of: figures of the last hours, in memory that is bounded whatever their number. Pure."""

import heapq
import math
import threading
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

EVERY_SECONDS: Final = 30.0
POINTS: Final = 720
"""Readings that are kept: of six hours."""
SUBJECTS: Final = 100
"""Topics or feeds with plots. 3 kB a figure, so 2 MB in all."""
WHOLE: Final = ""
"""The process as a whole, as a subject that always has its plots."""
UNKNOWN: Final = math.nan


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of one subject at one moment."""

    gauges: Mapping[str, float | None] = field(default_factory=dict)
    """Values as they are; None: not known now."""
    counters: Mapping[str, float] = field(default_factory=dict)
    """Values that only rise; plots show by how much within a second."""
    rank: float = 0.0
    """Subjects of higher rank get their plots first."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Figures of one subject."""

    times: Sequence[float]
    """Unix times of the readings, the oldest first."""
    values: Mapping[str, Sequence[float]]
    """By the name of the figure, one for each time; NaN: not known."""


class History:
    """A ring for each figure of at most `subjects` subjects, all of the same moments. Thread-safe."""

    def __init__(self, points: int = POINTS, subjects: int = SUBJECTS) -> None:
        self._points = points
        self._subjects = subjects
        self._lock = threading.Lock()
        self._taken = 0
        self._times = array("d", [UNKNOWN]) * points
        self._rings: dict[str, dict[str, array[float]]] = {}
        self._last: dict[str, Mapping[str, float]] = {}
        self._left_out = 0

    @property
    def left_out(self) -> int:
        """How many subjects have no plots, because others come before them."""
        return self._left_out

    def of(self, subject: str) -> "Lines | None":
        """Return what is known of a subject; None: it has no plots."""
        with self._lock:
            if subject not in self._rings:
                return None
            known = min(self._taken, self._points)
            values = {name: self._in_order(ring)[-known:] for name, ring in self._rings[subject].items()}
            return Lines(self._in_order(self._times)[-known:] if known else [], values)

    def take(self, at: float, readings: Mapping[str, Reading]) -> None:
        """Take what is known at a time, in seconds since the epoch."""
        with self._lock:
            self._take(at, readings)

    def _take(self, at: float, readings: Mapping[str, Reading]) -> None:
        self._choose(readings)
        slot = self._taken % self._points
        elapsed = at - self._times[(self._taken - 1) % self._points] if self._taken else 0.0
        for subject, rings in self._rings.items():
            values = self._values(subject, readings.get(subject, Reading()), elapsed)
            for name in list(rings.keys() | values.keys()):
                if name not in rings:
                    rings[name] = array("f", [UNKNOWN]) * self._points
                rings[name][slot] = values.get(name, UNKNOWN)
        self._last = {subject: readings[subject].counters for subject in self._rings if subject in readings}
        self._times[slot] = at
        self._taken += 1

    def _values(self, subject: str, reading: Reading, elapsed: float) -> dict[str, float]:
        values = {name: UNKNOWN if value is None else value for name, value in reading.gauges.items()}
        before = self._last.get(subject, {})
        for name, value in reading.counters.items():
            is_known = elapsed > 0 and name in before
            values[name] = max(0.0, value - before[name]) / elapsed if is_known else UNKNOWN
        return values

    def _choose(self, readings: Mapping[str, Reading]) -> None:
        """Give a place to each subject that is new, if there is one or if it comes before another that has one."""
        ranks = {name: reading.rank for name, reading in readings.items() if name != WHOLE}
        waiting = [(rank, name) for name, rank in ranks.items() if name not in self._rings]
        rings = dict(self._rings) or {WHOLE: {}}
        placed = [(ranks.get(name, -math.inf), name) for name in rings if name != WHOLE]
        heapq.heapify(placed)
        for rank, name in heapq.nlargest(self._subjects, waiting):
            if len(rings) > self._subjects:
                if placed[0][0] >= rank:
                    break
                del rings[heapq.heappop(placed)[1]]
            rings[name] = {}
        self._rings = rings
        self._left_out = len(ranks.keys() - rings.keys())

    def _in_order(self, ring: "array[float]") -> "array[float]":
        slot = self._taken % self._points
        return ring[slot:] + ring[:slot]
