"""Chooses the objects of a range that one pass writes, so that memory stays within a budget. Pure.

An object is either *held* as rows until the pass ends, which takes its size, or *streamed*: encoded and uploaded while
its rows arrive, which takes the same whatever its size. What has room for neither is left to a further pass.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Sizes = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]

PARTS: Final = 9
"""Parts of an upload whose size is the room for a range: eight streamed objects of text, and rows of the others."""
LEAST_FOR_ROWS: Final = 8
"""This share of the room is for rows even if streamed objects would take all of it."""
FILLED: Final = 0.75
"""Share of the room that is given to chosen objects: sizes are estimates."""
LEAST_FILLED: Final = 0.1
"""Share below which estimates are no help: even so little would still exceed the room."""


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes of memory that a range may take, apart from parts on their way."""

    total: int
    streamed: int
    """Memory of one streamed object: a part that is gathered, and what its encoder holds back."""

    @classmethod
    def of(cls, part_size: int, held_back: int) -> "Room":
        """Return the room for uploads with parts of a size and encoders that hold back so much."""
        return cls(PARTS * part_size, part_size + held_back)

    def for_rows(self, streams: int) -> int:
        """Return how many bytes of rows may wait while so many objects are streamed."""
        return max(self.total - streams * self.streamed, self.total // LEAST_FOR_ROWS)

    def is_large(self, sizes: Sizes) -> Marks:
        """Return which objects take less when they are streamed than when they are held."""
        return sizes > min(self.streamed, self.total // 2)

    def has_stream(self, streams: int, held: int) -> bool:
        """Whether one more object may be streamed while so many are, and so many bytes of rows wait."""
        return streams == 0 or held + (streams + 1) * self.streamed <= self.total

    def chosen(self, sizes: Sizes, streams: int, *, share: float) -> Marks:
        """Return which of some objects to write in this pass: the smallest first, and at least one in all.

        Args:
            sizes: bytes that the rows of each will have taken at the end of the range.
            streams: objects besides that are streamed already.
            share: how much of the room to give away.
        """
        order = np.argsort(sizes, kind="stable")
        takes = np.where(self.is_large(sizes), self.streamed, sizes)[order]
        fits = np.cumsum(takes) <= share * self.for_rows(streams)
        if not streams:
            fits[:1] = True
        result = np.zeros(len(sizes), np.bool_)
        result[order[fits]] = True
        return result
