"""Reading exact numbers of bytes from a stream of pieces."""

from collections.abc import Iterable


class ContentError(Exception):
    """An object that does not hold what its format asks for; the message says what is wrong, in a clause."""


class ByteStream:
    """A stream of pieces, read by numbers of bytes."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._piece = b""
        self._position = 0

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        while self._position >= len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return True
            self._piece, self._position = piece, 0
        return False

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes. Raises `ContentError` when there are not so many."""
        if size < 0:
            raise ContentError(f"a length in it is {size}")
        taken: list[bytes] = []
        missing = size
        while missing:
            if self.ended:
                raise ContentError("it is cut off")
            part = self._piece[self._position : self._position + missing]
            taken.append(part)
            self._position += len(part)
            missing -= len(part)
        return taken[0] if len(taken) == 1 else b"".join(taken)

    def variable_integer(self) -> int:
        """Return Hadoop's variable-length integer (``WritableUtils.readVInt``); lengths are never negative."""
        first = self.take(1)[0]
        if first < 0x80:
            return first
        if not 0x8C <= first <= 0x8F:
            raise ContentError(f"a length in it begins with {first:#04x}")
        return int.from_bytes(self.take(0x90 - first), "big")
