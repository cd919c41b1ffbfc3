"""Local directory of records that Kafka does not have yet: bounded, in order, whole after kill -9.

Entries are appended to segments and numbered. An entry is there once `append` has returned: its bytes are on the disk
(fdatasync), with a checksum by which an entry that was cut is recognised. A segment is removed when all of it is
released; how far that goes within the first segment is noted lazily, so after a crash a few entries come once more.
"""

import errno
import fcntl
import os
import re
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import structlog
from crc32c import crc32c

log = structlog.get_logger(__name__)

WhenFull = Literal["dropOldest", "dropNewest"]
_HEAD: Final = struct.Struct("<IIQ")
"""Length of the payload, CRC-32C of number and payload, number."""
_NUMBER: Final = struct.Struct("<Q")
_SUFFIX: Final = ".spool"
_NAME: Final = re.compile("[0-9]{20}")
_NOTE: Final = "released"
_SEGMENTS: Final = 16
"""How many there are at least when it is full: dropping the oldest drops one."""
_LARGEST_SEGMENT: Final = 16 * 2**20
_NOTE_SECONDS: Final = 1.0


class SpoolTakenError(Exception):
    """Another process has the directory."""


@dataclass(slots=True)
class Segment:
    """One file."""

    path: Path
    first: int
    """Number of its first entry, which names it."""
    end: int
    """Number after its last entry."""
    size: int


@dataclass(frozen=True, slots=True)
class Fill:
    """How full it is."""

    entries: int
    bytes: int
    dropped: int
    """Entries that were dropped since it was opened, because it was full or the disk failed."""


class Spool:
    """One directory, from `open` to `close`. Thread-safe."""

    def __init__(self, directory: Path, max_bytes: int, when_full: WhenFull) -> None:
        """Open it and look through what is there. Raises `SpoolTakenError`, and OSError when it cannot be used."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._max_bytes = max_bytes
        self._segment_bytes = min(max(1, max_bytes // _SEGMENTS), _LARGEST_SEGMENT)
        self._when_full: WhenFull = when_full
        self._lock = threading.Lock()
        self._taken = (directory / "lock").open("wb")
        try:
            fcntl.flock(self._taken, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._taken.close()
            raise SpoolTakenError(f"{directory}: another process uses it") from None
        names = sorted(path for path in directory.glob(f"*{_SUFFIX}") if _NAME.fullmatch(path.stem))
        self._segments = [_recovered(path) for path in names]
        self._bytes = sum(segment.size for segment in self._segments)
        self._released = max(self._noted(), self._segments[0].first if self._segments else 0)
        self._next = max([self._released, *(segment.end for segment in self._segments)])
        self._noted_at = 0.0
        self._file: int | None = None
        self._cursor = (-1, 0)
        """An entry's number and its place in its segment, where reading goes on."""
        self._dropped = 0
        self._remove_released()

    def append(self, payloads: Sequence[bytes]) -> list[int]:
        """Store payloads; return the places in the list of those that were dropped, because it is full."""
        with self._lock:
            refused = [place for place, payload in enumerate(payloads) if not self._appended(payload)]
            self._dropped += len(refused)
            self._sync()
            return refused

    def read(self, start: int, most_bytes: int) -> list[tuple[int, bytes]]:
        """Return entries from a number on, or from the first one that is there, with their numbers: some, if any."""
        with self._lock:
            found: list[tuple[int, bytes]] = []
            start = max(start, self._released)
            for segment in self._segments:
                if segment.end <= start:
                    continue
                for number, payload, end in _entries(segment, *self._place(segment, start)):
                    most_bytes -= len(payload)
                    found.append((number, payload))
                    self._cursor = start, _ = number + 1, end
                    if most_bytes <= 0:
                        return found
                if start < segment.end:
                    start = self._give_up(segment, start)
            return found

    def release(self, number: int) -> None:
        """Forget all entries up to this one."""
        with self._lock:
            self._released = max(self._released, number + 1)
            self._remove_released()
            if time.monotonic() - self._noted_at >= _NOTE_SECONDS:
                self._note()

    @property
    def fill(self) -> Fill:
        with self._lock:
            waiting = sum(segment.end - max(segment.first, self._released) for segment in self._segments)
            return Fill(waiting, self._bytes, self._dropped)

    @property
    def oldest(self) -> bytes | None:
        """Payload of the oldest entry."""
        with self._lock:
            found = (_entries(segment, self._released, 0) for segment in self._segments)
            return next((payload for entries in found for _, payload, _ in entries), None)

    def close(self) -> None:
        """Note how far it is released, and let others have it."""
        with self._lock:
            self._sync()
            self._note()
            self._end_segment()
            self._taken.close()

    def _give_up(self, segment: Segment, start: int) -> int:
        """Drop what of a segment cannot be read; return the number behind it."""
        lost, behind = segment.end - max(start, segment.first), segment.end
        log.error("spool.damaged", segment=segment.path.name, entries=lost)
        if segment is self._segments[-1]:
            self._end_segment()  # what would follow in the file could not be read either
        segment.end = max(start, segment.first)
        self._dropped += lost
        return behind

    # -- writing

    def _appended(self, payload: bytes) -> bool:
        size = _HEAD.size + len(payload)
        while self._bytes + size > self._max_bytes:
            if self._when_full == "dropNewest" or not self._segments or size > self._max_bytes:
                return False
            self._drop_first()
        number = _NUMBER.pack(self._next)
        entry = _HEAD.pack(len(payload), crc32c(payload, crc32c(number)), self._next) + payload
        try:
            self._write(entry)
        except OSError as error:
            log.error("spool.write_failed", directory=str(self._directory), error=error.strerror or str(error))  # noqa: TRY400
            self._end_segment()
            return False
        return True

    def _write(self, entry: bytes) -> None:
        if self._file is None or self._segments[-1].size + len(entry) > self._segment_bytes:
            self._begin_segment()
        segment, file = self._segments[-1], self._file
        assert file is not None
        written = 0
        try:
            while written < len(entry):
                written += os.write(file, entry[written:])
        except OSError:
            os.ftruncate(file, segment.size)
            raise
        segment.size += len(entry)
        self._bytes += len(entry)
        self._next += 1
        segment.end = self._next

    def _begin_segment(self) -> None:
        self._end_segment()
        path = self._directory / f"{self._next:020d}{_SUFFIX}"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._segments = [one for one in self._segments if one.path != path]  # one of which nothing was whole
        self._segments.append(Segment(path, self._next, self._next, 0))
        _sync_directory(self._directory)

    def _end_segment(self) -> None:
        if self._file is not None:
            self._sync()
            os.close(self._file)
            self._file = None

    def _sync(self) -> None:
        if self._file is None:
            return
        try:
            os.fdatasync(self._file)
        except OSError as error:  # they are sent nevertheless; only a crash of the machine would lose them
            log.error("spool.sync_failed", directory=str(self._directory), error=error.strerror or str(error))  # noqa: TRY400

    # -- removing

    def _drop_first(self) -> None:
        segment = self._segments[0]
        self._dropped += segment.end - max(segment.first, self._released)
        self._released = max(self._released, segment.end)
        self._remove_released()

    def _remove_released(self) -> None:
        while self._segments and self._segments[0].end <= self._released:
            segment = self._segments[0]
            if len(self._segments) == 1:
                self._end_segment()
            try:
                segment.path.unlink(missing_ok=True)
            except OSError as error:  # it is sent once more after the next start
                log.error("spool.remove_failed", segment=segment.path.name, error=error.strerror or str(error))  # noqa: TRY400
            self._bytes -= segment.size
            del self._segments[0]

    def _note(self) -> None:
        self._noted_at = time.monotonic()
        draft = self._directory / f"{_NOTE}.new"
        try:
            draft.write_text(f"{self._released} {_checksum(self._released)}")
            draft.replace(self._directory / _NOTE)
        except OSError as error:  # a few entries come once more after the next start
            log.error("spool.note_failed", directory=str(self._directory), error=error.strerror or str(error))  # noqa: TRY400

    def _noted(self) -> int:
        """Return how far it was released; 0 if the note is not whole, so that nothing is lost by it."""
        try:
            number, checksum = map(int, (self._directory / _NOTE).read_bytes().split())
            return number if checksum == _checksum(number) else 0
        except (OSError, ValueError, struct.error):
            return 0

    def _place(self, segment: Segment, start: int) -> tuple[int, int]:
        """Return where in a segment to read on: an entry's number at most `start`, and its place."""
        number, place = self._cursor
        return (start, place) if number == start and segment.first < start else (start, 0)


def _checksum(number: int) -> int:
    checksum: int = crc32c(_NUMBER.pack(number))
    return checksum


def _recovered(path: Path) -> Segment:
    """Return what is whole of a segment; the rest is cut off."""
    first = int(path.stem)
    segment = Segment(path, first, first, path.stat().st_size)
    whole = 0
    for number, _, end in _entries(segment, 0, 0):
        segment.end, whole = number + 1, end
    if whole < segment.size:
        log.warning("spool.damaged", segment=path.name, bytes=segment.size - whole)
        os.truncate(path, whole)
        segment.size = whole
    return segment


def _entries(segment: Segment, start: int, place: int) -> Iterator[tuple[int, bytes, int]]:
    """Yield number, payload and end of each whole entry from `start` on; reading begins at `place`.

    A segment that has gone, was cut or cannot be read any more ends there.
    """
    try:
        with segment.path.open("rb") as file:
            file.seek(place)
            while place + _HEAD.size <= segment.size:
                head = file.read(_HEAD.size)
                if len(head) < _HEAD.size:
                    return
                length, checksum, number = _HEAD.unpack(head)
                place += _HEAD.size + length
                if place > segment.size:
                    return
                payload = file.read(length)
                if crc32c(payload, crc32c(_NUMBER.pack(number))) != checksum:
                    return
                if number >= start:
                    yield number, payload, place
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EIO):  # such as too many open files: it may pass
            raise


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
