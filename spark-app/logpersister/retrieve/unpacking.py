"""Unpacks archives that were retrieved, each into the directory where it is."""

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from logpersister.formats.archive.read import compression_of, files_in
from logpersister.storage.store import READ_BYTES


def is_archive(file: Path) -> bool:
    """Whether a file is an archive by its name."""
    return compression_of(file.name) is not None


def unpack(file: Path) -> int:
    """Write the files of an archive beside it, each whole or not at all; return how many.

    Raises `ContentError`, OSError.
    """
    count = 0
    with file.open("rb") as content:
        pieces: Iterable[bytes] = iter(partial(content.read, READ_BYTES), b"")
        for name, seconds, value in files_in(compression_of(file.name) or "none", pieces):
            begun = file.with_name(f".{name}.part")
            try:
                begun.write_bytes(value)
                os.utime(begun, (seconds, seconds))
                begun.replace(file.with_name(name))
            finally:
                begun.unlink(missing_ok=True)
            count += 1
    return count
