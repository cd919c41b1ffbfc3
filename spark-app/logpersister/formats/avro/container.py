"""Avro's object container file: a header, then blocks of compressed rows, each followed by the sync marker.

Source of the format: Avro's specification 1.12, "Object Container Files".
"""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Literal

import pyarrow as pa
import zstandard
from isal import isal_zlib

from logpersister.formats.avro import numbers as avro_numbers
from logpersister.formats.base import Bytes
from logpersister.formats.binary import Integers
from logpersister.formats.compression import DEFLATE_LEVEL, ZSTD_LEVEL
from logpersister.formats.cuts import Cuts

MAGIC: Final = b"Obj\x01"
BLOCK_BYTES: Final = 256 * 1024
"""Rows of a block before compression. Readers hold one block, and tasks split files between them."""
_MOST_ROWS: Final = 1 << 20
_NO_MORE: Final = b"\x00"
"""Ends the metadata."""
_CODECS: Final = {"none": "null", "zstd": "zstandard"}
"""Names of codecs in headers, where they differ from those of the manifest."""


Compression = Literal["deflate", "zstd", "snappy", "none"]


def _compress(compression: Compression) -> Callable[[bytes], bytes]:
    """Return what turns a whole block into what stands in the file."""
    match compression:
        case "deflate":  # RFC 1951, without zlib's header
            return partial(isal_zlib.compress, level=DEFLATE_LEVEL, wbits=-zlib.MAX_WBITS)
        case "zstd":
            return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress
        case "snappy":
            return _snappy
        case "none":
            return bytes


def header(schema: str, compression: Compression, marker: bytes) -> bytes:
    """Return the header of a file."""
    metadata = {"avro.codec": _CODECS.get(compression, compression), "avro.schema": schema}
    entries = [_sized(part.encode()) for entry in metadata.items() for part in entry]
    return b"".join([MAGIC, avro_numbers.written(len(metadata)), *entries, _NO_MORE, marker])


class Blocks:
    """The rows of one object that are not written yet. A block ends with the row that makes it `BLOCK_BYTES`."""

    def __init__(self, compression: Compression, marker: bytes) -> None:
        self._compress = _compress(compression)
        self._marker = marker
        self._cuts = Cuts(BLOCK_BYTES, _MOST_ROWS)
        self._waiting: list[memoryview] = []
        self._rows = 0

    def add(self, rows: bytes, sizes: Integers) -> Iterator[Bytes]:
        """Take in rows, end to end, and the bytes of each; yield the blocks that are whole now."""
        content = memoryview(rows)
        for begin, end, is_whole in self._cuts.of(sizes):
            size = int(sizes[begin:end].sum())
            self._waiting.append(content[:size])
            content = content[size:]
            self._rows += end - begin
            if is_whole:
                yield self._take()

    def rest(self) -> Iterator[Bytes]:
        """Yield the last block, unless it has no row."""
        if self._rows:
            yield self._take()

    def _take(self) -> bytes:
        compressed = self._compress(b"".join(self._waiting))
        block = b"".join([avro_numbers.written(self._rows), _sized(compressed), self._marker])
        self._waiting, self._rows = [], 0
        return block


def _snappy(block: bytes) -> bytes:
    """Avro has the CRC-32 of what was compressed behind it."""
    compressed: bytes = pa.compress(block, codec="snappy", asbytes=True)
    return compressed + zlib.crc32(block).to_bytes(4, "big")


def _sized(content: bytes) -> bytes:
    return avro_numbers.written(len(content)) + content
