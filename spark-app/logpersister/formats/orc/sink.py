"""Sink that pyarrow's writers write to."""


class Sink:
    """A file that hands over what was written to it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: what was written can be taken."""

    def close(self) -> None:
        self.closed = True

    def taken(self) -> list[bytes]:
        """Return what was written since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces
