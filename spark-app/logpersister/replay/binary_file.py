"""A file that is read by exact numbers of bytes, of which nothing can be trusted."""

import os
import zlib
from typing import IO, Final

MOST_BYTES: Final = (1 << 31) - 1
"""Largest part: a column, or an array of Java, holds no more."""


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


def inflated(content: bytes, wbits: int = zlib.MAX_WBITS) -> bytes:
    """Return what one whole stream of zlib, or with negative `wbits` one without header, becomes. Raises ValueError."""
    stream = zlib.decompressobj(wbits)
    try:
        found = stream.decompress(content, MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"a compressed part of it is damaged: {error}") from None
    if not stream.eof or stream.unused_data:
        raise ValueError("a compressed part of it is not one whole stream, or too large")
    return found
