"""What a backup has of one range of a partition: small enough to go with the work of a task. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from logpersister.backup.ranges import PartitionBackup, Piece
from logpersister.ranges import Offset, Range


@dataclass(frozen=True, slots=True)
class BackupPart:
    """Objects of a backup that have a range, and what none of them has."""

    pieces: tuple[Piece, ...]
    """Pieces of objects, by rising offsets; they never overlap."""
    holes: tuple[Range, ...]
    """Offsets whose records were never stored, or whose object has gone, or cannot tell all of its records."""

    @classmethod
    def of(cls, backup: PartitionBackup | None, range_: Range) -> Self:
        """Return what a partition's backup has of a range; None: the backup has nothing of the partition."""
        if backup is None:
            return cls((), (range_,))
        found, holes = backup.within(range_.start, range_.end)
        lost = (one for one in backup.lost if one.start < range_.end and range_.start < one.end)
        flawed = (piece.range for piece in found if piece.object.flaw is not None)
        pieces = tuple(piece for piece in found if piece.object.flaw is None)
        return cls(pieces, tuple(sorted([*holes, *lost, *flawed])))

    def first_hole(self, start: Offset, end: Offset) -> Range | None:
        """Return the first offsets of ``[start, end)`` that are to be read nowhere; None: there are none."""
        return next((part for hole in self.holes if (part := hole.within(start, end)) is not None), None)

    def within(self, start: Offset, end: Offset) -> Iterator[Piece]:
        """Yield what ``[start, end)`` is to be read from."""
        for piece in self.pieces:
            part = piece.range.within(start, end)
            if part is not None:
                yield replace(piece, range=part)
