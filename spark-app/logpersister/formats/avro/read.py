"""The rows of Avro container files, block by block by the native reader (docs/formats.md has the format)."""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, Final, cast

import pyarrow as pa
import zstandard

import logpersister_native as native
from logpersister.formats.avro import numbers as avro_numbers
from logpersister.formats.avro.container import MAGIC
from logpersister.formats.avro.numbers import written
from logpersister.formats.binary_file import MOST_BYTES, BinaryFile
from logpersister.formats.damage import damage_told
from logpersister.formats.file_rows import nullable_type, plain_type
from logpersister.values.reading.columns import UTC, map_of
from logpersister.values.reading.resolved_rows import GIVEN


class AvroBlocks:
    """Makes rows of the blocks of an Avro file. A block holds what an array of its rows would hold."""

    def __init__(self, columns: pa.Schema, text: str) -> None:
        """Learn what stands in the file. Raises ValueError where that cannot become the columns.

        Args:
            columns: of the rows, by their names in the file; it may have more.
            text: the schema of the file.
        """
        rows = pa.field("rows", pa.list_(pa.field("element", pa.struct([*columns]), nullable=False)), nullable=False)
        self._native = native.AvroParser(pa.schema([rows]), framing="plain")
        block = {"name": "rows", "type": {"type": "array", "items": json.loads(text)}}
        self._native.add_writer(GIVEN, json.dumps({"type": "record", "name": "block", "fields": [block]}))

    def rows(self, count: int, content: bytes) -> pa.RecordBatch:
        """Return the rows of a block. Raises ValueError where these are not so many rows of the file's schema."""
        if not 0 <= count <= len(content):
            raise ValueError(f"a block in it has {count} rows in {len(content)} bytes")
        array = written(count) + content + written(0) if count else written(0)
        found, *_ = self._native.parse(cast("Any", pa.array([array], pa.binary())))
        if found.num_rows != 1 or (not count and content):
            raise ValueError("a row in it is damaged")
        return pa.RecordBatch.from_struct_array(cast("Any", found.column(0)).flatten())


EXTENSION: Final = ".avro"
_MARKER_BYTES: Final = 16
_FILE: Final = "Avro file"
_Columns = Sequence["pa.Field[Any]"]


class AvroRows:
    """`formats.file_rows.FileRows` of Avro. Memory: one block, which members end after 256 KiB, and what it becomes."""

    def __init__(self, file: IO[bytes], most: int = MOST_BYTES) -> None:
        """Open a file; `most`: bytes that one block may have."""
        self._file, self._most = BinaryFile(file, most), most
        with damage_told(_FILE):
            if self._file.take(len(MAGIC)) != MAGIC:
                raise ValueError("it does not begin as one")
            metadata = self._metadata()
            self._marker = self._file.take(_MARKER_BYTES)
            self._begin = self._file.place
            codec = metadata.get(b"avro.codec", b"null").decode()
            if codec not in _CODECS:
                raise ValueError(f"its codec is {codec}")
            self._inflated = _CODECS[codec]
            self._text = metadata.get(b"avro.schema", b"").decode()
            columns = _columns(self._text)
        # What is required in a struct is null where the struct is.
        self.schema = pa.schema([field.with_type(nullable_type(field.type)) for field in columns])

    def batches(self, most_rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        plain = pa.schema([field.with_type(plain_type(field.type)) for field in wanted])
        with damage_told(_FILE):
            blocks = AvroBlocks(plain, self._text)
            self._file.go(self._begin)
            while not self._file.ended:
                rows, size = self._long(), self._long()
                block = blocks.rows(rows, self._inflated(self._file.take(size), self._most))
                if self._file.take(_MARKER_BYTES) != self._marker:
                    raise ValueError("a block in it has no sync marker")
                for begin in range(0, rows, most_rows):
                    yield _as(block.slice(begin, most_rows), wanted)

    def _metadata(self) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        while count := self._long():
            if count < 0:
                self._long()  # the bytes of the entries
            for _ in range(abs(count)):
                name = self._file.take(self._long())
                found[name] = self._file.take(self._long())
        return found

    def _long(self) -> int:
        return avro_numbers.read(self._file.take)


def _as(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows with instants, dates and times, which the native reader would refuse outside of four-digit years."""
    columns = [column.cast(field.type) for column, field in zip(rows.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _columns(text: str) -> _Columns:
    """Return the columns of a file by its schema. Raises ValueError where it is none that members write."""
    try:
        record = json.loads(text)
        if record["type"] != "record":
            raise ValueError("its schema is no record")
        return [_field(one["name"], one["type"]) for one in record["fields"]]
    except (LookupError, TypeError, RecursionError):
        raise ValueError("its schema is no record") from None


def _field(name: str, type_: Any) -> "pa.Field[Any]":
    if not isinstance(type_, list):
        return pa.field(name, _arrow(type_), nullable=False)
    others = [one for one in type_ if one != "null"]
    if len(others) != 1:
        raise ValueError(f"its field {name} is of several types")
    return pa.field(name, _arrow(others[0]))


def _arrow(type_: Any) -> pa.DataType:
    if isinstance(type_, str):
        type_ = {"type": type_}
    match type_:
        case {"type": "record", "fields": fields}:
            return pa.struct([_field(one["name"], one["type"]) for one in fields])
        case {"type": "array", "items": items}:
            return pa.list_(_field("element", items))
        case {"type": "map", "values": values}:
            return map_of(pa.field("key", pa.string(), nullable=False), _field("value", values))
        case {"type": "bytes", "logicalType": "decimal", "precision": precision}:
            return pa.decimal128(precision, type_.get("scale", 0))
        case {"type": kind, "logicalType": logical} if (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]
        case {"type": kind} if kind in _WORDS:
            return _WORDS[kind]
    raise ValueError(f"its schema has the type {type_.get('type')}")


def _deflate(block: bytes, most: int) -> bytes:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    found = _whole(stream.decompress, block, most)
    # Some writers cut zlib's header off and only a part of the checksum behind it.
    if not stream.eof or len(stream.unused_data) > _CHECKSUM_BYTES:
        raise ValueError("a block in it is not one whole stream, or too large")
    return found


_CHECKSUM_BYTES: Final = 4


def _zstd(block: bytes, most: int) -> bytes:
    stream = zstandard.ZstdDecompressor().decompressobj()
    content = bytearray()
    for begin in range(0, len(block), _AT_ONCE):  # so that little of it is more than is allowed
        content += _whole(lambda piece, _: stream.decompress(piece), block[begin : begin + _AT_ONCE], most)
        if len(content) > most:
            raise ValueError("a block in it is too large")
    if not stream.eof or stream.unused_data:
        raise ValueError("a block in it is not one whole frame")
    return bytes(content)


_AT_ONCE: Final = 16 << 10


def _whole(inflate: Callable[[bytes, int], bytes], block: bytes, most: int) -> bytes:
    try:
        return inflate(block, most)
    except (zlib.error, zstandard.ZstdError) as error:
        raise ValueError(f"a block in it is damaged: {error}") from None


def _snappy(block: bytes, most: int) -> bytes:
    size = shift = 0
    for byte in block[:5]:  # what snappy begins with: seven bits a byte, the lowest first
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    found: bytes = pa.decompress(block[:-4], decompressed_size=min(size, most), codec="snappy", asbytes=True)
    if zlib.crc32(found).to_bytes(4, "big") != block[-4:]:
        raise ValueError("a block in it has a wrong checksum")
    return found


_CODECS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "null": lambda block, _: block,
    "deflate": _deflate,
    "zstandard": _zstd,
    "snappy": _snappy,
}
_WORDS: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL: Final[Mapping[tuple[str, str], pa.DataType]] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", UTC),
    ("long", "timestamp-micros"): pa.timestamp("us", UTC),
    ("long", "timestamp-nanos"): pa.timestamp("ns", UTC),
}
