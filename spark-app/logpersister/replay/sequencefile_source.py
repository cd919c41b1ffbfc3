"""Records of a quarantine in SequenceFiles with keys of MessagePack, as the reader of Kafka gave them.

Keys and values are cut out one by one, as record-compressed files can be read no other way: 6 µs for each. Source of
the format: the class comment and ``Reader`` of ``org.apache.hadoop.io.SequenceFile``, version 6; docs/formats.md.
"""

import struct
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import IO, Final

import pyarrow as pa

from logpersister.formats.sequencefile_keys import KeyLayout
from logpersister.formats.sequencefile_layout import CODEC_CLASS, SYNC_ESCAPE, VALUE_CLASS
from logpersister.records.schema import RECORDS
from logpersister.replay.binary_file import BinaryFile, inflated
from logpersister.replay.source_error import REMEDY, SourceError

EXTENSION: Final = ".seq"
MOST_BYTES_AT_ONCE: Final = 4 << 20
_VERSION: Final = b"SEQ\x06"
_MARKER_BYTES: Final = 16
_LENGTH_BYTES: Final = 4
_SYNC: Final = int.from_bytes(SYNC_ESCAPE, "big")
_OFFSET, _KEY, _TIMESTAMP = 1, 2, 3
_INTEGERS: Final = {
    0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_BINARIES: Final = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}

Pair = tuple[bytes, bytes]
"""A key and a value, without what Hadoop puts before the bytes of either."""


class SequenceRecords:
    """The records of a file. Memory: one block, which members end after 1 MB, and what it becomes."""

    has_headers = False

    def __init__(self, file: IO[bytes], _: str) -> None:
        """Open a file. Raises SourceError for one of offsets only, LookupError and ValueError as the others do."""
        self._file = BinaryFile(file)
        if self._file.take(len(_VERSION)) != _VERSION:
            raise ValueError("it does not begin as a SequenceFile of version 6")
        key, value = self._text(), self._text()
        if key == KeyLayout.LONG_WRITABLE.class_name:
            raise SourceError(f"its keys are offsets only (spec.output.sequencefile.key: longwritable); {REMEDY}")
        if (key, value) != (KeyLayout.MESSAGEPACK.class_name, VALUE_CLASS):
            raise LookupError("key")
        self._compressed, in_blocks = self._file.take(2)
        if self._compressed and self._text() != CODEC_CLASS:
            raise ValueError("its codec is another one")
        if any(self._file.take(_LENGTH_BYTES)):
            raise ValueError("it has metadata")
        self._marker = self._file.take(_MARKER_BYTES)
        self._begin = self._file.place
        self._pairs: Callable[[], Iterator[Pair]] = self._in_blocks if in_blocks else self._one_by_one

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`. Raises ValueError where the file is damaged."""
        self._file.go(self._begin)
        waiting: list[tuple[int, int, bytes | None, bytes]] = []
        size = 0
        for key, value in self._pairs():
            waiting.append((*_parts(key), value))
            size += len(key) + len(value)
            if len(waiting) >= most_rows or size >= MOST_BYTES_AT_ONCE:
                yield _batch(waiting)
                waiting, size = [], 0
        if waiting:
            yield _batch(waiting)

    def _in_blocks(self) -> Iterator[Pair]:
        while not self._file.ended:
            if self._length() != _SYNC or self._file.take(_MARKER_BYTES) != self._marker:
                raise ValueError("a block in it has no sync marker")
            count = self._variable()
            keys, values = (self._column(count), self._column(count))
            yield from zip(keys, values, strict=True)

    def _column(self, count: int) -> list[bytes]:
        """Return the keys, or the values, of a block."""
        lengths, content = (inflated(self._file.take(self._variable())) for _ in range(2))
        ends = [0, *accumulate(_variables(lengths))]
        if len(ends) != count + 1 or ends[-1] != len(content):
            raise ValueError("a block in it has other lengths than records")
        return [_bare(content[begin:end]) for begin, end in pairwise(ends)]

    def _one_by_one(self) -> Iterator[Pair]:
        while not self._file.ended:
            length = self._length()
            if length == _SYNC:
                if self._file.take(_MARKER_BYTES) != self._marker:
                    raise ValueError("a sync marker in it is another one")
                continue
            of_key = self._length()
            key, value = self._file.take(of_key), self._file.take(length - of_key)
            yield _bare(key), _bare(inflated(value) if self._compressed else value)

    def _length(self) -> int:
        return int.from_bytes(self._file.take(_LENGTH_BYTES), "big")

    def _variable(self) -> int:
        first = self._file.take(1)[0]
        return first if first < 0x80 else int.from_bytes(self._file.take(_more(first)), "big")

    def _text(self) -> str:
        return self._file.take(self._variable()).decode()


def _more(first: int) -> int:
    """Return how many bytes of Hadoop's variable-length integer follow the first one, where they do."""
    if not 0x8C <= first <= 0x8F:
        raise ValueError(f"a length in it begins with {first:#04x}")
    return 0x90 - first


def _variables(content: bytes) -> Iterator[int]:
    place = 0
    while place < len(content):
        first = content[place]
        place += 1
        if first < 0x80:
            yield first
            continue
        size = _more(first)
        yield int.from_bytes(content[place : place + size], "big")
        place += size


def _bare(content: bytes) -> bytes:
    """Return the bytes of a ``BytesWritable``."""
    if int.from_bytes(content[:_LENGTH_BYTES], "big") != len(content) - _LENGTH_BYTES:
        raise ValueError("a key or a value in it has another length than it says")
    return content[_LENGTH_BYTES:]


def _parts(key: bytes) -> tuple[int, int, bytes | None]:
    """Return offset, time and key, as ``{1: offset, 3: timestamp, 2: key}`` has them; a null key is left out."""
    found: dict[int, int | bytes] = {}
    place = 1
    try:
        for _ in range(key[0] & 0x0F):
            name, place = key[place], place + 1
            found[name], place = _value(key, place)
        offset, timestamp, of_record = found[_OFFSET], found[_TIMESTAMP], found.get(_KEY)
    except (IndexError, LookupError, struct.error):
        raise ValueError("a key in it is damaged") from None
    if not isinstance(offset, int) or not isinstance(timestamp, int) or isinstance(of_record, int) or place != len(key):
        raise ValueError("a key in it is damaged")
    return offset, timestamp, of_record


def _value(key: bytes, place: int) -> tuple[int | bytes, int]:
    """Return an integer or bytes of MessagePack, and where they end."""
    kind = key[place]
    place += 1
    if kind < 0x80 or kind >= 0xE0:
        return kind if kind < 0x80 else kind - 0x100, place
    number_as = _INTEGERS.get(kind) or _BINARIES[kind]
    (number,) = struct.unpack_from(number_as, key, place)
    place += struct.calcsize(number_as)
    if kind in _INTEGERS:
        return number, place
    return key[place : place + number], place + number


def _batch(rows: list[tuple[int, int, bytes | None, bytes]]) -> pa.RecordBatch:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_pydict(dict(zip(RECORDS.names, columns, strict=True)), schema=RECORDS)
