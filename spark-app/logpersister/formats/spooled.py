"""The content of an object as a file in which a reader can go back."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Final, cast

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
