"""A file that is read by exact numbers of bytes, of which nothing can be trusted."""

import os
from typing import IO, Final

MOST_BYTES: Final = (1 << 31) - 1
"""Largest part: a column, or an array of Java, holds no more."""


class BinaryFile:
    """Reads a file from its begin, and again from a place in it. Raises ValueError where it is damaged."""

    def __init__(self, file: IO[bytes], most: int = MOST_BYTES) -> None:
        """Take a file; `most`: bytes that are taken at once."""
        self._file, self._most = file, most

    def take(self, size: int) -> bytes:
        """Return the next bytes, so many."""
        if not 0 <= size <= self._most:
            raise ValueError(f"a length in it is {size}")
        found = self._file.read(size)
        if len(found) < size:
            raise ValueError("it is cut off")
        return found

    @property
    def place(self) -> int:
        return self._file.tell()

    def go(self, place: int) -> None:
        """Go on from a place."""
        self._file.seek(place)

    @property
    def ended(self) -> bool:
        if not self._file.read(1):
            return True
        self._file.seek(-1, os.SEEK_CUR)
        return False
