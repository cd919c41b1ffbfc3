"""A file that its reader closes and that is read again."""

from typing import IO


class Unclosed:
    """What pyarrow needs of a file; to close it does nothing."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        """Leave it open."""
