"""The records of SequenceFiles, in either layout of keys.

Keys and values are cut out one by one, as record-compressed files can be read no other way: 6 µs for each. Source of
the format: the class comment and ``Reader`` of ``org.apache.hadoop.io.SequenceFile``, version 6; docs/formats.md.
"""

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import IO, Any, Final

import pyarrow as pa

from logpersister.formats.binary_file import MOST_BYTES, BinaryFile
from logpersister.formats.damage import damage_told
from logpersister.formats.sequencefile.keys import class_name
from logpersister.formats.sequencefile.layout import CODEC_CLASS, SYNC_ESCAPE, VALUE_CLASS
from logpersister.records.schema import RECORDS

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
_FILE: Final = "SequenceFile"
_SCHEMAS: Final = {
    class_name("messagepack"): RECORDS,
    class_name("longwritable"): pa.schema([RECORDS.field("offset"), RECORDS.field("value")]),
}

Pair = tuple[bytes, bytes]
"""A key and a value, as Hadoop has either."""


class SequenceRows:
    """`formats.file_rows.FileRows` of SequenceFiles, with the columns of `records.schema` that a file keeps.

    Memory: one block, which members end after 1 MB, and what it becomes.
    """

    def __init__(self, file: IO[bytes], most: int = MOST_BYTES) -> None:
        """Open a file; `most`: bytes that one part of it may have."""
        self._file, self._most = BinaryFile(file, most), most
        with damage_told(_FILE):
            if self._file.take(len(_VERSION)) != _VERSION:
                raise ValueError("it does not begin as one of version 6")
            key, value = self._text(), self._text()
            if key not in _SCHEMAS or value != VALUE_CLASS:
                raise ValueError(f"its classes are {key} and {value}")
            self.schema = _SCHEMAS[key]
            self._compressed, in_blocks = self._file.take(2)
            if self._compressed and self._text() != CODEC_CLASS:
                raise ValueError("its codec is another one")
            if any(self._file.take(_LENGTH_BYTES)):
                raise ValueError("it has metadata")
            self._marker = self._file.take(_MARKER_BYTES)
            self._begin = self._file.place
        self._pairs: Callable[[], Iterator[Pair]] = self._in_blocks if in_blocks else self._one_by_one

    def batches(self, most_rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.schema.names if columns is None else columns
        waiting: list[tuple[Any, ...]] = []
        size = 0
        key_of = _parts if self.schema is RECORDS else _offset
        with damage_told(_FILE):
            self._file.go(self._begin)
            for key, value in self._pairs():
                waiting.append((*key_of(key), _bare(value)))
                size += len(key) + len(value)
                if len(waiting) >= most_rows or size >= MOST_BYTES_AT_ONCE:
                    yield self._batch(waiting).select(names)
                    waiting, size = [], 0
            if waiting:
                yield self._batch(waiting).select(names)

    def _batch(self, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
        columns = [list(column) for column in zip(*rows, strict=True)]
        return pa.RecordBatch.from_pydict(dict(zip(self.schema.names, columns, strict=True)), schema=self.schema)

    def _in_blocks(self) -> Iterator[Pair]:
        while not self._file.ended:
            if self._length() != _SYNC or self._file.take(_MARKER_BYTES) != self._marker:
                raise ValueError("a block in it has no sync marker")
            count = self._variable()
            keys, values = (self._column(count), self._column(count))
            yield from zip(keys, values, strict=True)

    def _column(self, count: int) -> list[bytes]:
        """Return the keys, or the values, of a block."""
        lengths, content = (self._inflated(self._file.take(self._variable())) for _ in range(2))
        ends = [0, *accumulate(_variables(lengths))]
        if len(ends) != count + 1 or ends[-1] != len(content):
            raise ValueError("a block in it has other lengths than records")
        return [content[begin:end] for begin, end in pairwise(ends)]

    def _one_by_one(self) -> Iterator[Pair]:
        while not self._file.ended:
            length = self._length()
            if length == _SYNC:
                if self._file.take(_MARKER_BYTES) != self._marker:
                    raise ValueError("a sync marker in it is another one")
                continue
            of_key = self._length()
            key, value = self._file.take(of_key), self._file.take(length - of_key)
            yield key, self._inflated(value) if self._compressed else value

    def _inflated(self, content: bytes) -> bytes:
        stream = zlib.decompressobj()
        try:
            found = stream.decompress(content, self._most)
        except zlib.error as error:
            raise ValueError(f"a compressed part of it is damaged: {error}") from None
        if not stream.eof or stream.unused_data:
            raise ValueError("a compressed part of it is not one whole stream, or too large")
        return found

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


def _offset(key: bytes) -> tuple[int]:
    if len(key) != _LONG_BYTES:
        raise ValueError(f"a LongWritable in it has {len(key)} bytes")
    return (int.from_bytes(key, "big", signed=True),)


_LONG_BYTES: Final = 8


def _parts(key: bytes) -> tuple[int, int, bytes | None]:
    """Return offset, time and key, as ``{1: offset, 3: timestamp, 2: key}`` has them; a null key is left out."""
    key = _bare(key)
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
