"""Files of an archive, one for each record: how they are named, and which repeat the one before. Pure.

An entry depends on its record and on those before it in the same object, never on the clock or on how they are cut into
batches. So whoever executes a range again leaves out the same records.
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.archive.settings import USUAL_NAME
from logpersister.formats.binary import without_nulls
from logpersister.records.field_times import FIRST_UNUSABLE_MS
from logpersister.records.key_folders import key_name
from logpersister.records.paths import UNKNOWN
from logpersister.values.reading.record_headers import last_header

REPLICA, POSTFIX, CONTENT = b"replica", b"postfix", b"content-sha256"
MISSED, MISSED_SINCE = b"missed-polls", b"missed-since"
"""Headers of records that collectors write (docs/feeds.md)."""
KEY_BYTES: Final = 120
"""Longest key in the name of a file: with time, hash and postfix it is one that each file system takes."""
REPLICA_BYTES: Final = 200
"""Longest name of a replica; more of it is cut."""
MOST_FEEDS: Final = 65_536
"""Keys of one object of which the last content is remembered."""
MOST_REPEATS: Final = 1000
"""Repeats between two files: so many are noted with one file."""
LONGEST_KEY: Final = 1000
"""Bytes of keys whose records can be left out."""
HASH_DIGITS: Final = 12
_HASHED_BYTES: Final = 10
_CONTENT_DIGITS: Final = 32
_HEX: Final = re.compile(rb"[0-9a-f]{64}")
_NUMBER: Final = re.compile(rb"[1-9][0-9]{0,14}")
_POSTFIX: Final = re.compile(rb"[A-Za-z0-9._-]{0,50}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as a file, or as a repeat of the file before it of the same key."""

    offset: int
    timestamp: int
    """Milliseconds since the epoch; -1: the record has none."""
    key: bytes | None
    name: str
    replica: str
    """Name of the replica that has seen it; empty: its record does not say."""
    content: str
    """Digest by which equal contents are told."""
    time_at: int
    """Where the time begins in its name."""
    is_repeat: bool
    """Whether it is left out, because the record before it with the same key has the same content."""
    missed: int = 0
    """Polls of its replica since the record before that gave nothing to compare."""
    missed_since: int = -1
    """When the first of them ended, in milliseconds since the epoch; -1: there is none."""
    value: "bytes | memoryview" = b""
    """Content of the file; empty in a repeat."""

    @property
    def seconds(self) -> int:
        """When the file was changed, in seconds since the epoch."""
        return seconds_of(self.timestamp)


class Entries:
    """Makes the entries of the records of one object. A repeat always follows a file."""

    def __init__(self, file_name: str = USUAL_NAME) -> None:
        """Name files by a template (``spec.output.archive.fileName``)."""
        self._before, self._after = file_name.split("{time}")
        self._last: dict[bytes | None, str] = {}
        """Last content by key."""
        self._repeats = 0
        """Since the last file."""

    def of(self, batch: pa.RecordBatch) -> Iterator[Entry]:
        """Yield the entries of the next records; of those without a value there are none."""
        kept = without_nulls(batch, "skip")
        if kept.num_rows == 0:
            return
        replicas, postfixes, contents = (_header(kept, name) for name in (REPLICA, POSTFIX, CONTENT))
        polls, since = (_header(kept, name) for name in (MISSED, MISSED_SINCE))
        rows = zip(
            binary.integers(kept, "offset").tolist(),
            binary.integers(kept, "timestamp").tolist(),
            kept.column("key").to_pylist(),
            _values(binary.column(kept, "value")),
            strict=True,
        )
        for row, (offset, timestamp, key, value) in enumerate(rows):
            digest = hashlib.sha256(value).digest()
            content = _content(contents[row], digest)
            may_be_left_out = self._repeats < MOST_REPEATS and len(key or b"") <= LONGEST_KEY
            is_repeat = self._last.pop(key, None) == content and may_be_left_out
            self._repeats = self._repeats + 1 if is_repeat else 0
            self._last[key] = content
            if len(self._last) > MOST_FEEDS:
                del self._last[next(iter(self._last))]
            parts = {
                "feed": key_name(key, KEY_BYTES),
                "hash": hash_text(digest),
                "postfix": _postfix(postfixes[row]),
            }
            head = self._before.format_map(parts)
            yield Entry(
                offset,
                timestamp,
                key,
                f"{head}{time_text(timestamp)}{self._after.format_map(parts)}",
                (replicas[row] or b"")[:REPLICA_BYTES].decode(errors="backslashreplace"),
                content[:_CONTENT_DIGITS],
                len(head),
                is_repeat,
                *_missed(polls[row], since[row]),
                b"" if is_repeat else value,
            )


def renamed(name: str, time_at: int, timestamp: int, to: int) -> str:
    """Return the name of the same content at another time."""
    return name[:time_at] + time_text(to) + name[time_at + len(time_text(timestamp)) :]


def usual_time_at(key: bytes | None) -> int:
    """Return where the time begins in a name by the default template."""
    return len(key_name(key, KEY_BYTES)) + 1


def time_text(timestamp: int) -> str:
    """Return a time as it stands in names: ``20261121T053000.123Z``."""
    if not _is_usable(timestamp):
        return UNKNOWN
    return f"{datetime.fromtimestamp(timestamp // 1000, UTC):%Y%m%dT%H%M%S}.{timestamp % 1000:03d}Z"


def hash_text(digest: bytes) -> str:
    """Return a digest as it stands in names."""
    return base64.b32encode(digest[:_HASHED_BYTES]).decode().lower()[:HASH_DIGITS]


def seconds_of(timestamp: int) -> int:
    """Return a time as headers of files have it."""
    return timestamp // 1000 if _is_usable(timestamp) else 0


def _is_usable(timestamp: int) -> bool:
    return 0 <= timestamp < FIRST_UNUSABLE_MS


def _header(batch: pa.RecordBatch, name: bytes) -> list[Any]:
    return last_header(batch, name).to_pylist() if "headers" in batch.schema.names else [None] * batch.num_rows


def _content(header: bytes | None, digest: bytes) -> str:
    """Return what stands for a content; a header that is no SHA-256 is one text of many, of which all counts."""
    if not header:
        return digest.hex()
    return header.decode() if _HEX.fullmatch(header) else hashlib.sha256(header).hexdigest()


def _values(column: pa.BinaryArray) -> Iterator[memoryview]:
    """Yield values, which are not null, without copying them."""
    content, ends = memoryview(binary.data(column)), binary.offsets(column)
    first = int(ends[0])
    begin = 0
    for end in ends[1:].tolist():
        yield content[begin : end - first]
        begin = end - first


def _missed(polls: bytes | None, since: bytes | None) -> tuple[int, int]:
    """Return how many polls were missed, and since when; what is no such number says nothing."""
    if polls is None or since is None or not (_NUMBER.fullmatch(polls) and _NUMBER.fullmatch(since)):
        return 0, -1
    return int(polls), int(since)


def _postfix(header: bytes | None) -> str:
    """Return the end of a name; what does not belong there is escaped."""
    if header is None:
        return ""
    return header.decode() if _POSTFIX.fullmatch(header) else quote(header[:16], safe="")
