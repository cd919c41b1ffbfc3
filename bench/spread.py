"""Several measurements of the same thing, told honestly."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Self


@dataclass(frozen=True, slots=True)
class Spread:
    """The median and the extremes of repetitions."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Sum up one value or more."""
        ordered = sorted(values)
        return cls(median(ordered), ordered[0], ordered[-1])

    def text(self, digits: int = 0) -> str:
        """Return for example ``310 (302-315)``; the median alone when there is nothing else to tell."""
        middle, least, most = (f"{value:,.{digits}f}" for value in (self.median, self.least, self.most))
        return middle if least == most else f"{middle} ({least}-{most})"
