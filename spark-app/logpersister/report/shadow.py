"""A shadow member's report on its comparison with the old revision. Pure."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final

from logpersister.ranges import Offset, TopicPartition
from logpersister.report.plain import Document, document

MAX_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Both:
    """A number of both."""

    stable: int = 0
    """What members of the old revision stored."""
    shadow: int = 0
    """What the shadow stored."""

    def __add__(self, other: "Both") -> "Both":
        return Both(self.stable + other.stable, self.shadow + other.shadow)


@dataclass(frozen=True, slots=True)
class Difference:
    """Offsets ``[start, end)`` of which the two have stored different records."""

    partition: TopicPartition
    start: Offset
    end: Offset
    message: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of a comparison."""

    offsets: int = 0
    ranges: int = 0
    records: Both = Both()
    objects: Both = Both()
    bytes: Both = Both()
    checksums_compared: int = 0
    checksums_impossible: int = 0
    """Unions of ranges of which only the number of records could be compared, or nothing."""
    differences: int = 0

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Figures)))


NOTHING: Final = Figures()


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """Comparison of the partitions that this member owns now."""

    since: datetime
    """When this process began to compare."""
    partitions: int = 0
    """Partitions in which something was compared."""
    figures: Figures = NOTHING
    examples: tuple[Difference, ...] = ()
    error: str | None = None
    """Why the comparison cannot go on; None while it can."""


def figures_document(figures: Figures) -> Document:
    """Return the figures as the status document has them."""
    checksums = {"compared": figures.checksums_compared, "impossible": figures.checksums_impossible}
    return document(figures, "checksums_compared", "checksums_impossible") | {"checksums": checksums}
