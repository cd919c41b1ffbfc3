"""Records of a quarantine in JSON lines, as the reader of Kafka gave them (docs/formats.md has the format)."""

import base64
from collections.abc import Iterator, Mapping
from io import IOBase
from typing import IO, Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from logpersister.formats.unclosed import Unclosed
from logpersister.records.schema import HEADERS, REASON
from logpersister.replay.file_columns import KEPT_HEADERS, KEY, OFFSET, TIMESTAMP, VALUE, records_of

EXTENSIONS: Final = {".jsonl": None, ".jsonl.gz": "gzip", ".jsonl.zst": "zstd"}
"""And the compression of each."""
BLOCK_BYTES: Final = 64 << 20
"""Text read at once; no line is longer, as no record of `logpersister head` is."""
_BASE64: Final = "_base64"
_TEXT: Final = pa.string()
_HEADER: Final = pa.struct([(name + end, _TEXT) for name in ("key", "value") for end in ("", _BASE64)])
_TYPES: Final[Mapping[str, pa.DataType]] = {
    REASON: _TEXT,
    OFFSET: pa.int64(),
    TIMESTAMP: pa.timestamp("ms", "UTC"),
    **{name + end: _TEXT for name in (VALUE, KEY) for end in ("", _BASE64)},
    KEPT_HEADERS: pa.list_(_HEADER),
}


class LinesRecords:
    """The records of a file. Memory: a block of text, and what it becomes."""

    def __init__(self, file: IO[bytes], extension: str) -> None:
        """Open a file. Raises LookupError for one that is no quarantine, and what pyarrow raises."""
        self._file = file
        self._compression = next(EXTENSIONS[one] for one in EXTENSIONS if extension.endswith(one))
        first = next(self._blocks())
        missing = [name for name in (OFFSET, REASON) if first.column(name).null_count]
        if missing:
            raise LookupError(missing[0])
        self.has_headers = not first.column(KEPT_HEADERS).null_count
        """Where they are kept, a record without any has an empty list."""

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`."""
        for block in self._blocks():
            for begin in range(0, block.num_rows, most_rows):
                yield self._records(block.slice(begin, most_rows))

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        self._file.seek(0)
        compression: Any = self._compression
        text: Any = pa.input_stream(cast("IOBase", Unclosed(self._file)), compression=compression)
        stream: Any = _Objects(text)
        options = pj.ParseOptions(explicit_schema=pa.schema(_TYPES), unexpected_field_behavior="ignore")
        yield from pj.open_json(stream, pj.ReadOptions(block_size=BLOCK_BYTES), options)

    def _records(self, block: pa.RecordBatch) -> pa.RecordBatch:
        columns = {
            OFFSET: block.column(OFFSET),
            TIMESTAMP: block.column(TIMESTAMP),
            KEY: _bytes(block, KEY),
            VALUE: _bytes(block, VALUE),
        }
        if self.has_headers:
            columns[KEPT_HEADERS] = _headers(block.column(KEPT_HEADERS))
        return records_of(columns)


class _Objects(Unclosed):
    """Text of which each line begins an object: pyarrow's reader crashes the process for others, such as ``null``."""

    def __init__(self, text: IO[bytes]) -> None:
        super().__init__(text)
        self._text = text
        self._begins_line = True
        self.read = self._read

    def _read(self, size: int = -1) -> bytes:
        found = self._text.read(size)
        if found:
            begins = found.startswith(b"{") or not self._begins_line
            if not begins or found.count(b"\n", 0, len(found) - 1) != found.count(b"\n{"):
                raise ValueError("a line in it is no JSON object")
            self._begins_line = found.endswith(b"\n")
        return found


def _headers(lists: Any) -> "pa.Array[Any]":
    parts = pa.RecordBatch.from_struct_array(lists.flatten())
    item = HEADERS.value_type
    headers = pa.StructArray.from_arrays([_bytes(parts, "key"), _bytes(parts, "value")], fields=[*item])
    counts = pc.cumulative_sum(pc.list_value_length(lists)).to_numpy()
    return pa.ListArray.from_arrays(pa.array([0, *counts], pa.int32()), headers, type=HEADERS)


def _bytes(block: pa.RecordBatch, name: str) -> "pa.Array[Any]":
    """Return a column of bytes: as text, or as base64 where they are none."""
    text: pa.Array[Any] = block.column(name).cast(pa.binary())
    encoded = block.column(name + _BASE64)
    if encoded.null_count == len(encoded):
        return text
    decoded = [None if one is None else base64.b64decode(one, validate=True) for one in encoded.to_pylist()]
    either: pa.Array[Any] = pc.coalesce(text, pa.array(decoded, pa.binary()))
    return either
