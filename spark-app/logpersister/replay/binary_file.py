"""A file that is read by exact numbers of bytes, of which nothing can be trusted."""

import os
from typing import IO, Final

MOST_BYTES: Final = (1 << 31) - 1
"""Of one part: a column, and an array of Java, holds no more."""


class BinaryFile:
    """Reads a file from its begin, and again from a place in it. Raises ValueError where it is damaged."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def take(self, size: int) -> bytes:
        """Return the next bytes, so many."""
        if not 0 <= size <= MOST_BYTES:
            raise ValueError(f"a length in it is {size}")
        found = self._file.read(size)
        if len(found) < size:
            raise ValueError("it is cut off")
        return found

    @property
    def place(self) -> int:
        """Where the next byte stands."""
        return self._file.tell()

    def go(self, place: int) -> None:
        """Go on from a place."""
        self._file.seek(place)

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        if not self._file.read(1):
            return True
        self._file.seek(-1, os.SEEK_CUR)
        return False
