"""A member's report on the types of ``spec.types``: counts of each, and the age of its newest record. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from logpersister.report.facts import RangeWritten, TypeCounts
from logpersister.report.human import instant
from logpersister.report.labels import OTHER, BoundedValues
from logpersister.report.plain import Document, document

MAX_TYPES: Final = 300
"""Types of topics that are told apart, by one member; those that come later share ``other``. The manifest bounds their
number, too, but not as low, and they may be of many topics."""
MAX_WORST: Final = 10
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class TypeOfTopic(NamedTuple):
    """Topic and type that the numbers belong to."""

    topic: str
    type: str


class BoundedTypes:
    """The first `MAX_TYPES` types are told apart, all others together. From any thread."""

    def __init__(self) -> None:
        self._known = BoundedValues(MAX_TYPES)

    def __call__(self, topic: str, type_: str) -> TypeOfTopic:
        is_known = self._known(f"{topic}/{type_}") != OTHER
        return TypeOfTopic(topic, type_) if is_known else TypeOfTopic(OTHER, OTHER)


@dataclass(slots=True)
class TypeNumbers:
    """The numbers of all types since this process began. For one thread at a time."""

    counts: dict[TypeOfTopic, TypeCounts] = field(default_factory=dict)
    _bounded: BoundedTypes = field(default_factory=BoundedTypes)

    def range_written(self, written: RangeWritten) -> None:
        for type_, counts in written.types.items():
            of = self._bounded(written.range.partition.topic, type_)
            self.counts[of] = self.counts.get(of, TypeCounts()).plus(counts)


Counted = tuple[TypeOfTopic, TypeCounts]


def types_document(counted: Iterable[Counted]) -> Document | None:
    """Return the totals, the worst by age and by quarantine, and the newest time of each type, to sum up members.

    None: there are no types.
    """
    types = sorted(counted, key=lambda one: (one[0].topic, one[0].type))
    if not types:
        return None
    total = TypeCounts()
    newest: Document = {}
    for of, counts in types:
        total = total.plus(counts)
        if counts.newest is not None:
            newest.setdefault(of.topic, {})[of.type] = _instant(counts.newest)
    stalest = sorted((one for one in types if one[1].newest is not None), key=lambda one: one[1].newest or 0)
    refused = sorted((one for one in types if one[1].quarantined), key=lambda one: -one[1].quarantined)
    return {
        "count": len(types),
        "records": total.records,
        "bytes": total.bytes,
        "quarantined": total.quarantined,
        "dropped": total.dropped,
        "stalest": [_document(*one) for one in stalest[:MAX_WORST]],
        "mostQuarantined": [_document(*one) for one in refused[:MAX_WORST]],
        "newest": newest,
    }


def _document(of: TypeOfTopic, counts: TypeCounts) -> Document:
    return of._asdict() | document(counts, "newest") | {"newest": _instant(counts.newest)}


def _instant(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else instant(_EPOCH + timedelta(milliseconds=milliseconds))
