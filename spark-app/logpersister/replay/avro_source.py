"""Records of a quarantine in Avro, as the reader of Kafka gave them (docs/formats.md has the format)."""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Final

import pyarrow as pa
import zstandard

from logpersister.formats import avro_numbers
from logpersister.formats.avro_container import MAGIC
from logpersister.formats.file_columns import KAFKA_FIELDS
from logpersister.records.avro_rows import AvroBlocks
from logpersister.replay.binary_file import MOST_BYTES, BinaryFile, inflated
from logpersister.replay.file_columns import KEPT_HEADERS, VALUE, chosen, records_of

EXTENSION: Final = ".avro"
_MARKER_BYTES: Final = 16
_FIELDS: "Final[Mapping[str, pa.Field[Any]]]" = {field.name: field for field in KAFKA_FIELDS.values()} | {
    VALUE: pa.field(VALUE, pa.binary())
}


class AvroRecords:
    """The records of a file. Memory: one block, which members end after 256 KiB, and what it becomes."""

    def __init__(self, file: IO[bytes], _: str) -> None:
        """Open a file. Raises LookupError for one that is no quarantine, ValueError for one that is damaged."""
        self._file = BinaryFile(file)
        if self._file.take(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin as an Avro file")
        metadata = self._metadata()
        self._marker = self._file.take(_MARKER_BYTES)
        self._begin = self._file.place
        codec = metadata.get(b"avro.codec", b"null").decode()
        if codec not in _CODECS:
            raise ValueError(f"its codec is {codec}")
        self._inflated = _CODECS[codec]
        text = metadata.get(b"avro.schema", b"").decode()
        columns = chosen(_names(text))
        self._blocks = AvroBlocks(pa.schema([_FIELDS[name] for name in columns]), text)
        self.has_headers = KEPT_HEADERS in columns

    def batches(self, most_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all records, in columns of `records.schema`. Raises ValueError where the file is damaged."""
        self._file.go(self._begin)
        while not self._file.ended:
            rows, size = self._long(), self._long()
            block = self._blocks.rows(rows, self._inflated(self._file.take(size)))
            if self._file.take(_MARKER_BYTES) != self._marker:
                raise ValueError("a block in it has no sync marker")
            records = records_of({name: block.column(name) for name in block.schema.names})
            for begin in range(0, records.num_rows, most_rows):
                yield records.slice(begin, most_rows)

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


def _names(text: str) -> list[str]:
    try:
        return [str(field["name"]) for field in json.loads(text)["fields"]]
    except (LookupError, TypeError, RecursionError):
        raise ValueError("its schema is no record") from None


def _deflate(block: bytes) -> bytes:
    return inflated(block, -zlib.MAX_WBITS)


def _zstd(block: bytes) -> bytes:
    stream = zstandard.ZstdDecompressor().decompressobj()
    try:
        found = stream.decompress(block)
    except zstandard.ZstdError as error:
        raise ValueError(f"a block in it is damaged: {error}") from None
    if not stream.eof or stream.unused_data:
        raise ValueError("a block in it is not one whole frame")
    return found


def _snappy(block: bytes) -> bytes:
    size = shift = 0
    for byte in block[:5]:  # what snappy begins with: seven bits a byte, the lowest first
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    found: bytes = pa.decompress(block[:-4], decompressed_size=min(size, MOST_BYTES), codec="snappy", asbytes=True)
    if zlib.crc32(found).to_bytes(4, "big") != block[-4:]:
        raise ValueError("a block in it has a wrong checksum")
    return found


_CODECS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "null": bytes,
    "deflate": _deflate,
    "zstandard": _zstd,
    "snappy": _snappy,
}
