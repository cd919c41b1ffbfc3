"""A stream of pieces that is read by exact numbers of bytes."""

from collections.abc import Iterable


class Pieces:
    """Reads pieces in their order. Raises ValueError where they end too early, and what they raise."""

    def __init__(self, pieces: Iterable[bytes], most: int = (1 << 31) - 1) -> None:
        """Take the pieces; `most`: bytes that are taken at once."""
        self._pieces = iter(pieces)
        self._most = most
        self._piece = b""
        self._place = 0

    def take(self, size: int) -> bytes:
        """Return the next bytes, so many."""
        if not 0 <= size <= self._most:
            raise ValueError(f"a length in it is {size}")
        found: list[bytes] = []
        while size:
            if self.ended:
                raise ValueError("it is cut off")
            part = self._piece[self._place : self._place + size]
            self._place += len(part)
            size -= len(part)
            found.append(part)
        return found[0] if len(found) == 1 else b"".join(found)

    @property
    def ended(self) -> bool:
        """Whether no byte is left."""
        while self._place == len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return True
            self._piece, self._place = piece, 0
        return False
