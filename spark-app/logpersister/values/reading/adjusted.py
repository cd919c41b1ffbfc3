"""Values that were adjusted instead of refusing their records.

A parser does it (``faults`` of ``spec.value``), and a level by date whose field has no usable time (``date.format``).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Kind = tuple[str, str | None]
"""Why the value would have been refused, in one word, and its field; none where no field is concerned."""


@dataclass(frozen=True, slots=True)
class Adjusted:
    """The adjusted values of a batch; at least one."""

    kinds: Sequence[Kind]
    records: npt.NDArray[np.int64]
    """Place in the batch of each value's record, ascending."""
    kind_of: npt.NDArray[np.int32]
    """Index into `kinds` per value."""

    def only(self, records: npt.NDArray[np.bool_]) -> "Adjusted | None":
        """Return the adjusted values of marked records."""
        kept = records[self.records]
        return Adjusted(self.kinds, self.records[kept], self.kind_of[kept]) if kept.any() else None

    def among(self, records: npt.NDArray[np.int64]) -> "Adjusted | None":
        """Return the adjusted values of some records, by their ascending places, as if the batch had no others."""
        kept = np.isin(self.records, records)
        places = np.searchsorted(records, self.records[kept])
        return Adjusted(self.kinds, places, self.kind_of[kept]) if kept.any() else None

    def within(self, records: npt.NDArray[np.int64]) -> "Adjusted":
        """Return the adjusted values as those of a larger batch, where these records have these ascending places."""
        return Adjusted(self.kinds, records[self.records], self.kind_of)

    def counts(self) -> Counter[Kind]:
        """Return how many there are of each kind."""
        found = np.bincount(self.kind_of, minlength=len(self.kinds)).tolist()
        return Counter({kind: count for kind, count in zip(self.kinds, found, strict=True) if count})


def joined(one: Adjusted | None, other: Adjusted | None) -> Adjusted | None:
    """Return all adjusted values of one batch."""
    if one is None or other is None:
        return one or other
    records = np.concatenate([one.records, other.records])
    kind_of = np.concatenate([one.kind_of, other.kind_of + np.int32(len(one.kinds))])
    order = np.argsort(records, kind="stable")
    return Adjusted([*one.kinds, *other.kinds], records[order], kind_of[order])


def by_reason(counts: Counter[Kind]) -> Counter[str]:
    """Return the counts by reason, whatever the fields are."""
    found: Counter[str] = Counter()
    for (reason, _), count in counts.items():
        found[reason] += count
    return found
