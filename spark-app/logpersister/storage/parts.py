"""Gathers the bytes of an object into the parts of an upload without copying them. Pure.

Parts are cut at exact sizes that depend on the part's number alone. So the same bytes give the same parts, and the
same entity tag, however an encoder happens to hand them over.
"""

from collections.abc import Iterable, Iterator

from isal import isal_zlib

MIB = 1024 * 1024
MAX_PARTS = 10_000
"""Parts that S3 allows one upload to have."""
MAX_PART_SIZE = 5 * 1024 * MIB
"""Bytes that S3 allows one part to have."""

PARTS_OF_ONE_SIZE = 5_000
"""Parts that all have the first size. Some storages (Cloudflare R2) take only parts of one size, except the last."""
PARTS_UNTIL_DOUBLED = 490
"""Number of parts after which their size doubles, each time. 10,000 parts hold 5 TiB even when the first ones have
5 MiB, while a part never has more than its first size or a 490th of the object."""

PIECE = MIB
"""Bytes that are sent at once. The time-out of a socket holds for one send, so this makes it a time-out for stalls
instead of one for whole parts."""

SMALL = 64 * 1024
"""Buffers below this are copied together: a send of its own would cost more than the copy."""


def part_size(number: int, first: int) -> int:
    """Return the bytes of part `number` (from 1) of an upload whose first part has `first` bytes.

    Raises ValueError when S3 takes no such part.
    """
    if not 1 <= number <= MAX_PARTS:
        raise ValueError(f"an object cannot have a part {number}; S3 takes {MAX_PARTS}: lower upload.maxBytes")
    beyond = max(0, number - PARTS_OF_ONE_SIZE)
    return min(first << -(-beyond // PARTS_UNTIL_DOUBLED), MAX_PART_SIZE)


class Part:
    """Bytes up to `size`, kept as the buffers that they came in."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.length = 0
        self._buffers: list[memoryview] = []
        self._small = bytearray()

    @property
    def room(self) -> int:
        return self.size - self.length

    def add(self, data: memoryview) -> None:
        """Append `data` (unsigned bytes), which fits into the room and must not change any more."""
        self.length += len(data)
        if len(data) >= SMALL:
            self._close_small()
            self._buffers.append(data)
            return
        self._small += data
        if len(self._small) >= PIECE:
            self._close_small()

    def body(self) -> "PartBody":
        """Return what has been added as the body of a request; the part is closed by that."""
        self._close_small()
        return PartBody(self._buffers)

    def _close_small(self) -> None:
        if self._small:
            self._buffers.append(memoryview(self._small))
            self._small = bytearray()


class PartBody:
    """Several buffers as one seekable file, for HTTP clients: nothing is joined, each buffer is sent as it is.

    Seekable because a request that is tried again is read again.
    """

    def __init__(self, buffers: Iterable[memoryview]) -> None:
        self._pieces = [buffer[begin : begin + PIECE] for buffer in buffers for begin in range(0, len(buffer), PIECE)]
        self._length = sum(map(len, self._pieces))
        self._next = 0
        self._position = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[memoryview]:
        return iter(self._pieces)

    def crc32(self) -> int:
        """Return the CRC-32 (of zlib) of the whole body."""
        crc = 0
        for piece in self._pieces:
            crc = isal_zlib.crc32(piece, crc)
        return crc

    def joined(self) -> bytes:
        """Return all bytes as one object; a copy."""
        return b"".join(self._pieces)

    def read(self, size: int | None = -1) -> bytes | memoryview:
        """Return the next piece, or ``b""`` at the end.

        A given `size` is only a hint, and may be exceeded up to `PIECE`: HTTP clients ask for 16 KiB at a time, which
        would cost more in calls than it would save. Without it the rest is returned, as of any file.
        """
        if size is None or size < 0:
            rest = b"".join(self._pieces[self._next :])
            self.seek(0, 2)
            return rest
        if self._next == len(self._pieces):
            return b""
        piece = self._pieces[self._next]
        self._next += 1
        self._position += len(piece)
        return piece

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a position between two pieces; ValueError for others, which no client asks for."""
        target = offset + (0, self._position, self._length)[whence]
        position = index = 0
        while position < target and index < len(self._pieces):
            position += len(self._pieces[index])
            index += 1
        if position != target:
            raise ValueError(f"cannot seek to {target} of {self._length} bytes, which is inside a piece")
        self._next, self._position = index, position
        return position
