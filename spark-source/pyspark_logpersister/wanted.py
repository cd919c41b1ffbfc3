"""Which records a query wants, by its filters, and which objects and record batches have none of them. Pure.

Only what is cheap to know is decided here: everything else is left to Spark, which looks at each record again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

LAST = (1 << 63) - 1
_LIMITED = ("partition", "offset", "timestamp")


@dataclass(frozen=True, slots=True)
class Limits:
    """Values of a column, first and last."""

    first: int = -LAST
    last: int = LAST

    def holds(self, value: int) -> bool:
        return self.first <= value <= self.last

    def also(self, other: "Limits") -> "Limits":
        """Return what is in both."""
        return Limits(max(self.first, other.first), min(self.last, other.last))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The records that a query wants: some of those for which all of this holds."""

    topics: frozenset[str] | None = None
    """None: all."""
    limits: dict[str, Limits] = field(default_factory=dict)
    """By column: partition, offset, and timestamp in milliseconds."""

    def of(self, column: str) -> Limits:
        return self.limits.get(column, Limits())

    def narrowed(self, one: Filter) -> "Wanted":
        """Return what is left by a filter, too."""
        attribute: tuple[str, ...] = getattr(one, "attribute", ())
        column = attribute[0] if len(attribute) == 1 else ""  # not of what is within a column
        if column == "topic" and isinstance(one, EqualTo | In):
            names = frozenset([one.value] if isinstance(one, EqualTo) else one.value)
            return replace(self, topics=names if self.topics is None else self.topics & names)
        limits = _LIMITS.get(type(one)) if column in _LIMITED else None
        if limits is None:
            return self
        try:
            found = limits(cast("Any", one).value)
        except (ValueError, OverflowError, TypeError):  # such as the years 1 and 9999, or NULL: Spark looks at them
            return self
        return replace(self, limits={**self.limits, column: self.of(column).also(found)})

    def has_topic(self, topic: str) -> bool:
        return self.topics is None or topic in self.topics


def wanted(filters: Iterable[Filter]) -> Wanted:
    """Return what all filters together leave."""
    found = Wanted()
    for one in filters:
        found = found.narrowed(one)
    return found


def _floor(value: Any) -> int:
    """Return a number, or a time in milliseconds."""
    return int(value.timestamp() * 1_000_000) // 1000 if isinstance(value, datetime) else int(value)


def _ceiling(value: Any) -> int:
    return -(int(value.timestamp() * -1_000_000) // 1000) if isinstance(value, datetime) else int(value)


_LIMITS: Mapping[type[Filter], Callable[[Any], Limits]] = {
    EqualTo: lambda value: Limits(_floor(value), _ceiling(value)),
    In: lambda values: Limits(min(map(_floor, values), default=0), max(map(_ceiling, values), default=-1)),
    GreaterThan: lambda value: Limits(first=_floor(value) + 1),
    GreaterThanOrEqual: lambda value: Limits(first=_floor(value)),
    LessThan: lambda value: Limits(last=_ceiling(value) - 1),
    LessThanOrEqual: lambda value: Limits(last=_ceiling(value)),
}
"""Limits of a column by its filter."""


@dataclass(frozen=True, slots=True, order=True)
class ObjectName:
    """An object of a backup, as its name says."""

    topic: str
    partition: int
    generation: int
    start: int
    """First offset of its range."""
    key: str


def selected(names: Iterable[ObjectName], query: Wanted, generation: int | None = None) -> Iterator[ObjectName]:
    """Yield the objects that may have records of a query, of one generation: None is the highest of each topic."""
    found = sorted(one for one in names if query.has_topic(one.topic))
    highest: dict[str, int] = {}
    for one in found:
        highest[one.topic] = max(highest.get(one.topic, 0), one.generation)
    of_generation = [
        one for one in found if one.generation == (highest[one.topic] if generation is None else generation)
    ]
    partitions, offsets = query.of("partition"), query.of("offset")
    for one, after in zip(of_generation, [*of_generation, None][1:], strict=True):
        ends_before = (
            after is not None and (after.topic, after.partition) == (one.topic, one.partition)
            and after.start <= offsets.first
        )  # fmt: skip
        if partitions.holds(one.partition) and one.start <= offsets.last and not ends_before:
            yield one
