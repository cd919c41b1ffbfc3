"""Format ``archive``: a tar archive, a file for each record in the order of offsets.

Before each file stands a comment (`comment_of`), which ``tar`` passes over: by it an archive says which record is the
file, and which records behind it are left out as repeats. Values are kept as they are; other headers than those of the
comment are not (docs/archives.md).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.archive import tar
from logpersister.formats.archive.consolidation import MANIFEST, Files
from logpersister.formats.archive.entries import Entries, Entry, seconds_of, usual_time_at
from logpersister.formats.archive.settings import ArchiveSpec
from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.compression import CONTENT_TYPES, EXTENSIONS, compressor
from logpersister.formats.damage import ContentError

RULES: Final = 2
"""Raise it when an object gets another extension, or a record another file or comment."""
_JSON: Final = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class ArchiveFormat:
    """`formats.base.Format` for archives."""

    settings: ArchiveSpec

    wants_headers = True

    @property
    def extension(self) -> str:
        return ".tar" + EXTENSIONS[self.settings.compression]

    @property
    def content_type(self) -> str:
        return CONTENT_TYPES.get(self.settings.compression, "application/x-tar")

    @property
    def held_back(self) -> int:
        return (18 if self.settings.compression == "xz" else 1) << 20  # the state of a compressor, and a chunk

    def encoder(self, identity: ObjectIdentity) -> "ArchiveEncoder":  # noqa: ARG002  (it says nothing of its object)
        return ArchiveEncoder(self.settings)


class ArchiveEncoder:
    """`formats.base.Encoder` for archives. Exhaust what a call returns before the next call."""

    def __init__(self, settings: ArchiveSpec) -> None:
        self._entries = Entries(settings.file_name)
        self._stream = compressor(settings.compression)
        self._file: Entry | None = None
        """The last file, which is written when it is known what repeats follow."""
        self._repeats: list[Entry] = []

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        for part in binary.slices(batch):
            for entry in self._entries.of(part):
                if entry.is_repeat:
                    self._repeats.append(entry)
                else:
                    yield from self._written()
                    self._file = replace(entry, value=bytes(entry.value))

    def finish(self) -> Iterator[Bytes]:
        yield from self._written()
        yield from self._stream.write(tar.END)
        yield from self._stream.finish()

    def _written(self) -> Iterator[Bytes]:
        if self._file is not None:
            yield from self._stream.write(_file(self._file, comment_of(self._file, self._repeats)))
        self._file, self._repeats = None, []


def consolidated(
    manifest: Mapping[str, Any],
    seconds: int,
    files: Files,
    sources: Iterable[Iterable[Entry]],
    kept: Iterable[tuple[str, int, bytes]] = (),
) -> Iterator[bytes]:
    """Yield one archive of several, not compressed. Raises `ContentError` where a source has changed.

    Args:
        manifest: content of its first file, which is of this time.
        seconds: since the epoch.
        files: which are in it (`consolidation.Consolidation.files`).
        sources: entries of each source, in the order in which they were added before.
        kept: name, time and content of files of an earlier version.
    """
    content = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    yield _bytes(MANIFEST, content, seconds)
    for name, time, value in kept:
        yield _bytes(name, value, time)
    left = set(files)
    for number, entries in enumerate(sources):
        for entry in entries:
            for name, timestamp in files.get((number, entry.offset), ()):
                yield _bytes(name, entry.value, seconds_of(timestamp))
            left.discard((number, entry.offset))
    if left:
        raise ContentError(f"{len(left)} of its records were there a moment ago and are no more")
    yield tar.END


def _file(entry: Entry, comment: str) -> bytes:
    return _bytes(entry.name, entry.value, entry.seconds, comment)


def _bytes(name: str, content: bytes | memoryview, seconds: int, comment: str = "") -> bytes:
    size = len(content)
    return b"".join((tar.file_header(name, size, seconds, comment), content, tar.padding(size)))


def comment_of(entry: Entry, repeats: Sequence[Entry] = ()) -> str:
    """Return what an archive says of the record of a file, and of those behind it that are left out, as JSON."""
    said = _said(entry)
    if repeats:
        said["repeats"] = [_said(one) | {"name": one.name} for one in repeats]
    return _JSON(said)


def _said(entry: Entry) -> dict[str, Any]:
    said: dict[str, Any] = {"offset": entry.offset, "time": entry.timestamp, "content": entry.content}
    if entry.key is not None:
        said["key"] = quote(entry.key, safe="")
    if entry.time_at != usual_time_at(entry.key):
        said["timeAt"] = entry.time_at
    if entry.missed:
        said |= {"missedPolls": entry.missed, "missedSince": entry.missed_since}
    if entry.replica:
        said["replica"] = entry.replica
    return said
