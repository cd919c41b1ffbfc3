"""Offsets of a partition, and the objects of a backup that hold them. Pure.

Offsets that are in no object are explained by a note of the group (nothing was there to store, or Kafka had lost them
before), or they are a hole. A hole is never passed over: what is made again from the backup would lack records.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from logpersister.ranges import Offset, Range, TopicPartition, minus


@dataclass(frozen=True, slots=True)
class BackupObject:
    """One object of a backup."""

    key: str
    range: Range
    """Offsets that it stands for."""
    generation: int
    records: int
    """Records that it has of its range."""
    first: Offset
    last: Offset
    """Offsets of the first and of the last of them."""
    checksum: str = ""
    keeps_times: bool = True
    """Whether it has the timestamps of its records."""
    flaw: str | None = None
    """What it cannot tell of its records (`backup.kept`); None: it has them as they were."""

    @property
    def is_dense(self) -> bool:
        """Whether its records have offsets without gaps between them."""
        return self.records == self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Piece:
    """Offsets of a partition, and the object to read them from."""

    range: Range
    object: BackupObject

    @property
    def is_whole(self) -> bool:
        """Whether all records of the object are wanted, so that its facts are those of the piece."""
        return self.range == self.object.range


@dataclass(frozen=True, slots=True)
class Explained:
    """Offsets that are in no object for a reason that the group has noted."""

    range: Range
    generation: int
    is_lost: bool
    """Whether records were there, which Kafka had deleted, or somebody had skipped, before they were stored."""


@dataclass(frozen=True, slots=True)
class PartitionBackup:
    """A partition as a backup has it, from the first offset of the first object to the last of the last one.

    Of a partition without objects there are notes: it reaches from the first to the last of them.
    """

    partition: TopicPartition
    pieces: tuple[Piece, ...]
    """Pieces of objects, by rising offsets; they never overlap."""
    holes: tuple[Range, ...]
    lost: tuple[Range, ...]
    """Offsets whose records were never stored, as the group has noted."""
    empty: tuple[Range, ...] = ()
    """Offsets without records, as the group has noted: also before the first object, and behind the last."""

    @property
    def start(self) -> Offset:
        return min(one.start for one in self._known)

    @property
    def end(self) -> Offset:
        return max(one.end for one in self._known)

    @property
    def keeps_times(self) -> bool:
        """Whether each object has the timestamps of its records."""
        return all(piece.object.keeps_times for piece in self.pieces)

    @property
    def _known(self) -> Sequence[Range]:
        return [piece.range for piece in (*self.pieces[:1], *self.pieces[-1:])] or [*self.empty, *self.lost]

    def within(self, start: Offset, end: Offset) -> "tuple[tuple[Piece, ...], tuple[Range, ...]]":
        """Return what ``[start, end)`` is to be read from, and its holes: also what lies before and behind all objects.

        Offsets that are explained are in neither.
        """
        outside = [(start, min(end, self.start)), (max(start, self.end), end)]
        without_object = [Range(self.partition, *span) for span in outside if span[0] < span[1]]
        holes = _without(without_object, self.empty)
        holes += filter(None, (hole.within(start, end) for hole in self.holes))
        clipped = ((piece, piece.range.within(start, end)) for piece in self.pieces)
        pieces = tuple(Piece(range_, piece.object) for piece, range_ in clipped if range_ is not None)
        return pieces, tuple(sorted(holes))


def partition_backups(
    objects: Iterable[BackupObject], explained: Iterable[Explained] = ()
) -> dict[TopicPartition, PartitionBackup]:
    """Return what a backup has of each partition.

    Where several generations have an offset, the highest one is taken: it was stored last, on purpose.
    """
    by_partition: defaultdict[TopicPartition, list[BackupObject]] = defaultdict(list)
    for one in objects:
        by_partition[one.range.partition].append(one)
    notes: defaultdict[TopicPartition, list[Explained]] = defaultdict(list)
    for note in explained:
        notes[note.range.partition].append(note)
    known = sorted({*by_partition, *notes})
    return {partition: _backup(partition, by_partition[partition], notes[partition]) for partition in known}


def _backup(partition: TopicPartition, objects: Sequence[BackupObject], notes: Sequence[Explained]) -> PartitionBackup:
    pieces: list[Piece] = []
    for generation in sorted({one.generation for one in objects}, reverse=True):
        of_it = sorted((one for one in objects if one.generation == generation), key=lambda one: one.range)
        pieces = sorted([*pieces, *_beneath(of_it, pieces)], key=lambda piece: piece.range)
    between = [(before.range.end, after.range.start) for before, after in pairwise(pieces)]
    if not pieces:
        between = [(min(note.range.start for note in notes), max(note.range.end for note in notes))]
    gaps = [Range(partition, start, end) for start, end in between if start < end]
    lost = tuple(note.range for note in sorted(notes, key=lambda note: note.range) if note.is_lost)
    in_gaps = [part for gap in gaps for one in lost if (part := one.within(gap.start, gap.end)) is not None]
    holes = _without(gaps, (note.range for note in notes))
    empty = tuple(sorted(note.range for note in notes if not note.is_lost))
    return PartitionBackup(partition, tuple(pieces), tuple(holes), tuple(in_gaps), empty)


def _beneath(objects: Sequence[BackupObject], above: Sequence[Piece]) -> Iterator[Piece]:
    """Yield what is left of objects, sorted by their ranges, where higher generations have nothing."""
    taken = [piece.range for piece in above]
    first, furthest = 0, -1
    for one in objects:
        own = one.range.within(furthest, one.range.end)
        if own is None:
            continue
        furthest = own.end
        first = bisect_right(taken, own.start, first, key=lambda range_: range_.end)
        behind = bisect_left(taken, own.end, first, key=lambda range_: range_.start)
        yield from (Piece(rest, one) for rest in _without([own], taken[first:behind]))


def _without(ranges: Sequence[Range], taken: Iterable[Range]) -> list[Range]:
    """Return what is left of ranges of a partition without others."""
    left = minus((one.span for one in ranges), (one.span for one in taken))
    return [Range(ranges[0].partition, *span) for span in left]
