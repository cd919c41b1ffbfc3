"""Aligns objects of two groups that hold the same offsets, though each cut its ranges as it liked. Pure.

Ranges of both sides that overlap belong together. So each *overlap* ends where neither side has a range that goes on,
and both must hold the same records between its ends. Offsets that are in no range (transaction markers, aborted
records, compaction) divide nothing and join nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from logpersister.ranges import Offset
from logpersister.storage.facts import ObjectFacts


class Side(StrEnum):
    """Group of an object."""

    STABLE = "stable"
    SHADOW = "shadow"


@dataclass(frozen=True, slots=True)
class ComparedObject:
    """One object of one side."""

    key: str
    path: str
    """Partition path, empty when the layout has none. Late records have the path that others of their folder
    have: each group has finished folders of its own, so a record may have come late for one of them only."""
    size: int
    facts: ObjectFacts

    @property
    def start(self) -> Offset:
        return self.facts.range.start

    @property
    def end(self) -> Offset:
        return self.facts.range.end


@dataclass(frozen=True, slots=True)
class OverlappingRanges:
    """Offsets ``[start, end)`` between which each side has whole ranges, or none."""

    start: Offset
    end: Offset
    stable: tuple[ComparedObject, ...]
    """Objects by rising start."""
    shadow: tuple[ComparedObject, ...]

    @property
    def begins_together(self) -> bool:
        """Whether both sides have objects, and their first ranges begin at the same offset."""
        return bool(self.stable and self.shadow) and self.stable[0].start == self.shadow[0].start


@dataclass(frozen=True, slots=True)
class Alignment:
    """What can be compared now, and where to go on."""

    overlaps: Sequence[OverlappingRanges]
    frontier: Offset
    """Everything before it is in the overlaps; a boundary of both sides."""


def align(
    stable: Iterable[ComparedObject], shadow: Iterable[ComparedObject], begin: Offset, limit: Offset
) -> Alignment:
    """Return the overlaps in ``[begin, limit)``.

    Args:
        begin: a boundary of both sides; objects that start before it are left out.
        limit: what both sides have committed: every object before it is there, and an overlap that goes on behind it is
            not whole yet.
    """
    of_both = [(one, Side.STABLE) for one in stable] + [(one, Side.SHADOW) for one in shadow]
    inside = [(one, side) for one, side in of_both if begin <= one.start < limit]
    inside.sort(key=lambda each: (each[0].start, each[0].end, each[0].path, each[0].key))
    overlaps: list[OverlappingRanges] = []
    gathered: list[tuple[ComparedObject, Side]] = []
    end = begin
    for one, side in inside:
        if gathered and one.start >= end:
            overlaps.append(_overlap(gathered, end))
            gathered = []
        gathered.append((one, side))
        end = max(end, one.end)
    if gathered and end <= limit:
        overlaps.append(_overlap(gathered, end))
        gathered = []
    return Alignment(overlaps, gathered[0][0].start if gathered else max(begin, limit))


def _overlap(gathered: Sequence[tuple[ComparedObject, Side]], end: Offset) -> OverlappingRanges:
    stable = tuple(one for one, side in gathered if side is Side.STABLE)
    shadow = tuple(one for one, side in gathered if side is Side.SHADOW)
    return OverlappingRanges(gathered[0][0].start, end, stable, shadow)
