"""The entries of an archive, in which nothing can be trusted."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from logpersister.formats.archive import tar
from logpersister.formats.archive.entries import Entry, time_text, usual_time_at
from logpersister.formats.compression import EXTENSIONS, AnyCompression
from logpersister.formats.damage import damage_told
from logpersister.formats.lines import COMPRESSED_BYTES, decompressed
from logpersister.formats.pieces import Pieces

MOST_BYTES: Final = (1 << 31) - 1
"""Largest file: Kafka has no larger record."""


def entries_in(
    compression: str, pieces: Iterable[bytes], most: int = MOST_BYTES, at_once: int = COMPRESSED_BYTES
) -> Iterator[Entry]:
    """Yield the entries of an archive that members wrote. Raises `ContentError`.

    Args:
        compression: of the whole archive.
        pieces: of its bytes.
        most: bytes that one file may have.
        at_once: compressed bytes that become one piece.
    """
    with damage_told("archive"):
        for header, value in _files(compression, pieces, most, at_once):
            yield from _entries(header, value)


def files_in(compression: str, pieces: Iterable[bytes]) -> Iterator[tuple[str, int, bytes]]:
    """Yield name, time in seconds and content of each file, of any archive of ours. Raises `ContentError`."""
    with damage_told("archive"):
        for header, value in _files(compression, pieces, MOST_BYTES, COMPRESSED_BYTES):
            if "/" in header.name or "\0" in header.name or header.name in ("", ".", ".."):
                raise ValueError(f"a file in it has the name {header.name!r}")
            yield header.name, header.seconds, value


def _files(compression: str, pieces: Iterable[bytes], most: int, at_once: int) -> Iterator[tuple[tar.Header, bytes]]:
    stream = Pieces(decompressed(compression, pieces, at_once), most)
    for header in tar.headers(stream):
        value = stream.take(header.size)
        stream.take(-header.size % tar.BLOCK)
        yield header, value


def compression_of(name: str) -> AnyCompression | None:
    """Return the compression of an archive with this name; None: it is none."""
    return next((one for one, extension in EXTENSIONS.items() if name.endswith(f".tar{extension}")), None)


def _entries(header: tar.Header, value: bytes) -> Sequence[Entry]:
    """Return the entry of a file, and of the repeats behind it."""
    try:
        said = json.loads(header.comment)
        file = _entry(said, header.name, value, is_repeat=False)
        repeats = [_entry(one, str(one["name"]), b"", is_repeat=True) for one in said.get("repeats", ())]
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise ValueError(f"the comment of file {header.name} in it is missing or damaged") from None
    return [file, *repeats]


def _entry(said: Mapping[str, Any], name: str, value: bytes, *, is_repeat: bool) -> Entry:
    key = None if said.get("key") is None else unquote_to_bytes(said["key"])
    time, time_at = int(said["time"]), int(said.get("timeAt", usual_time_at(key)))
    if time_at < 0 or not name.startswith(time_text(time), time_at):
        raise ValueError(f"the name {name!r} has no time at {time_at}")
    return Entry(
        int(said["offset"]),
        time,
        key,
        name,
        str(said.get("replica", "")),
        str(said["content"]),
        time_at,
        is_repeat,
        int(said.get("missedPolls", 0)),
        int(said.get("missedSince", -1)),
        value,
    )
