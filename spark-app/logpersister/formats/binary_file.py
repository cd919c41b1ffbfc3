"""A file that is read by exact numbers of bytes, of which nothing can be trusted."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Final, cast

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


IN_MEMORY_BYTES: Final = 4 << 20
"""Content that is larger stands in a temporary file."""


@contextmanager
def spooled(pieces: Iterable[bytes]) -> Iterator[IO[bytes]]:
    """Take the content in, and give it as a file at its begin."""
    with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as file:
        for piece in pieces:
            file.write(piece)
        file.seek(0)
        yield cast("IO[bytes]", file)
