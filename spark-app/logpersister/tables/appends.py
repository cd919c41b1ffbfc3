"""Decides which receipts may go into a table now. Pure.

A receipt goes when its range is committed and begins where the table ends, partition by partition. So whatever a table
holds of a partition is one stretch of offsets without holes, except those that are recorded as lost or skipped. Nothing
is ever appended that cannot be told to be missing: a hole, an overlap or a receipt for another table stops its
partition, and only that.

A receipt that says that its range has no rows for a table is one that the table has all rows of. So the table moves
over it, but only together with rows that come behind it, or where somebody asks it to move (`tables.duty`): a snapshot
for each range would be one for nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from logpersister.ranges import Offset, Range
from logpersister.storage.receipts import ReceiptName
from logpersister.tables.errors import TableError, TableReason
from logpersister.tables.offsets import GAPS, Held, Numbering, TableView

MOST_RECEIPTS: Final = 10_000
"""Most receipts of one snapshot: what they say is in memory at once."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What a receipt has for one table."""

    range: Range
    topic_id: str | None
    generation: int
    table: str | None
    """UUID of the table whose files are in it; None: the range has no rows for the table."""
    spec_id: int = 0

    @property
    def name(self) -> ReceiptName:
        return ReceiptName(self.generation, self.range.partition.partition, self.range.start)


@dataclass(frozen=True, slots=True)
class CommittedPosition:
    """How far a partition is, by a committed offset with metadata of ours."""

    offset: Offset
    generation: int
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class Stop:
    """Why nothing more of a partition can go into the table without a person."""

    generation: int
    partition: int
    reason: TableReason
    message: str
    gap: str = ""
    """Name of the gap, if a person may accept it."""


@dataclass(slots=True)
class Appends:
    """What is to be done with receipts."""

    take: list[Portion] = field(default_factory=list)
    """The files of these go into one snapshot, in this order."""
    held: dict[Numbering, dict[int, Offset]] = field(default_factory=dict)
    """Offsets that the table holds after this snapshot."""
    moved: bool = False
    """Whether that is more than now, perhaps without a file."""
    stops: list[Stop] = field(default_factory=list)

    def told(self, table: str) -> TableError | None:
        """Return an error that tells of the first partition that is stopped, if any is."""
        if not self.stops:
            return None
        first, *others = self.stops
        more = f" (and {len(others)} more partitions)" if others else ""
        gaps = ",".join(stop.gap for stop in self.stops if stop.gap) if first.gap else ""
        remedy = f"; or, if it may lack these rows, set its property {GAPS} to {gaps}" if gaps else ""
        return TableError(first.reason, f"table {table}, partition {first.partition}: {first.message}{remedy}{more}")


def appends(
    view: TableView,
    held: Held,
    committed: Mapping[int, CommittedPosition],
    portions: Iterable[Portion],
    unstored: Sequence[Range] = (),
    most: int = MOST_RECEIPTS,
) -> Appends:
    """Decide about what receipts have for a table.

    Args:
        held: what it holds, by the same view (`held_by`).
        committed: how far partitions are, read before the receipts were listed. May be stale, which is acting late.
        unstored: offsets of the topic that are recorded as lost or skipped.
    """
    found = Appends(held={of: dict(offsets) for of, offsets in held.items()})
    by_partition: defaultdict[tuple[int, int], list[Portion]] = defaultdict(list)
    for portion in portions:
        by_partition[portion.generation, portion.range.partition.partition].append(portion)
    for (_, partition), of_partition in sorted(by_partition.items()):
        position = committed.get(partition)
        lost = sorted((one.start, one.end) for one in unstored if one.partition.partition == partition)
        for portion in sorted(of_partition, key=lambda one: one.range.start):
            if not _considered(portion, position, found, view, lost, most):
                break
    return found


def _considered(
    portion: Portion,
    position: CommittedPosition | None,
    found: Appends,
    view: TableView,
    lost: Sequence[tuple[Offset, Offset]],
    most: int,
) -> bool:
    """Take in one portion; return whether the next one of its partition may go, too."""
    range_, partition = portion.range, portion.range.partition.partition
    of = Numbering(portion.generation, portion.topic_id or "")
    holds = found.held.get(of, {}).get(partition)
    if holds is not None and range_.end <= holds:
        return True
    if not _is_committed(portion, position) or len(found.take) >= most:
        return False
    if holds is not None and holds < range_.start:
        holds = min(range_.start, _over_lost(holds, lost))  # a skip may be taken back: then a part of it is stored
    stop = _stop(portion, holds, view)
    if stop is not None:
        found.stops.append(stop)
        return False
    if portion.table is not None:
        found.take.append(portion)
    found.held.setdefault(of, {})[partition] = range_.end
    found.moved = True
    return True


def _is_committed(portion: Portion, position: CommittedPosition | None) -> bool:
    """Whether the range is stored for good: an offset says so of its own generation and of lower ones."""
    return (
        position is not None
        and position.topic_id == portion.topic_id
        and position.generation >= portion.generation
        and portion.range.end <= position.offset
    )


def _over_lost(holds: Offset, lost: Sequence[tuple[Offset, Offset]]) -> Offset:
    """Return how far the table is when offsets behind what it holds are in no object."""
    for first, end in lost:
        if first <= holds < end:
            holds = end
    return holds


def _stop(portion: Portion, holds: Offset | None, view: TableView) -> Stop | None:
    range_, partition, generation = portion.range, portion.range.partition.partition, portion.generation
    if portion.table is not None and portion.table != view.uuid:
        return Stop(
            generation,
            partition,
            "other-table",
            f"{range_} was written for a table of this name that was dropped since; restore that table, or raise "
            "spec.generation, and the table of today has what is stored from then on",
        )
    if portion.table is not None and portion.spec_id != view.spec_id:
        return Stop(
            generation,
            partition,
            "partition-spec",
            f"{range_} was written for partition spec {portion.spec_id}, and the default is {view.spec_id} now; make "
            f"spec {portion.spec_id} the default again",
        )
    if holds is None or range_.start == holds:
        return None
    if range_.start < holds:
        return Stop(
            generation,
            partition,
            "overlap",
            f"the table has all rows before offset {holds}, and the next receipt begins at {range_.start} and ends at "
            f"{range_.end}; see logpersister verify, and delete the receipt if its rows are in the table",
        )
    gap = f"{partition}:{holds}-{range_.start}"
    if view.accepts_gap(gap):
        return None
    return Stop(
        generation,
        partition,
        "gap",
        f"the table has all rows before offset {holds}, and the next receipt begins at {range_.start}: what is between "
        "was stored by a revision without this table, or for another bucket or prefix, or its receipt was deleted. "
        "Raise spec.generation, and the table has what is stored from then on",
        gap,
    )
