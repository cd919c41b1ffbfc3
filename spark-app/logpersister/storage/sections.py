"""A stored object as a file."""

import io
from collections.abc import Callable
from typing import Any, Final

_BUFFERED_BYTES: Final = 1 << 20


class Sections(io.RawIOBase):
    """An object as a file that can be read anywhere."""

    def __init__(self, size: int, section: Callable[[int, int], bytes], known: bytes = b"", begin: int = 0) -> None:
        """Take its size, what reads from one place to another, and a part that is known, with its begin."""
        self._size, self._section, self._position = size, section, 0
        self._known, self._begin, self._end = known, begin, begin + len(known)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = begin + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._size, self._position + size)
        begin = self._position
        if self._begin <= begin and end <= self._end:
            content = self._known[begin - self._begin : max(0, end - self._begin)]
        else:
            content = self._section(begin, end) if end > begin else b""
        self._position += len(content)
        return content

    def readinto(self, buffer: Any) -> int:
        """Read less than there is room for, where that needs no request."""
        known = self._end - self._position if self._begin <= self._position else 0
        content = self.read(min(len(buffer), known) if known > 0 else len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def buffered(self) -> io.BufferedReader:
        """Return the same for those who read it byte by byte."""
        return io.BufferedReader(self, _BUFFERED_BYTES)
