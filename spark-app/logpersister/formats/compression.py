"""Compression of byte streams whose output depends on the content alone.

A streaming compressor may answer the same bytes differently when they come in other calls: it flushes what it has, or
ends a block at the end of a call. A range that is read again comes in other batches, and its object must have the same
bytes; so every compressor here is fed chunks of exactly `CHUNK_BYTES` (the last one is shorter), cut from the stream
by `Chunks`. Everything else that could vary is fixed: no time stamp, no file name, one thread, pinned levels.

The bytes are those of the pinned library versions: another version of zstd or ISA-L may compress the same content to
other, equally valid, bytes.
"""

import lzma
import zlib
from collections.abc import Iterator, Mapping
from typing import Final, Literal, Protocol

import zstandard
from isal import isal_zlib

from logpersister.formats.base import Bytes

CHUNK_BYTES: Final = 256 * 1024
"""What a compressor gets in one call. Larger chunks fall out of the second-level cache (measured 10 % slower at 1 MiB);
much smaller ones only add calls. Changing it changes the bytes of objects."""

GZIP_LEVEL: Final = 2
"""Level of ISA-L, 0 to 3: 2 compresses a little better than 1 at the same speed."""

DEFLATE_LEVEL: Final = 2
"""Level for zlib-format buffers (`deflate`), as `GZIP_LEVEL`."""

ZSTD_LEVEL: Final = 3
"""zstd's own default."""

ZSTD_WINDOW_BITS: Final = 18
"""Window of 256 KiB instead of 2 MiB; it stays in the second-level cache: 5 to 20 % faster on text and log
lines, four times on random letters, for objects that are 2 to 4 % larger at most (docs/performance.md)."""

_ZSTD_PARAMETERS: Final = zstandard.ZstdCompressionParameters.from_level(
    ZSTD_LEVEL, window_log=ZSTD_WINDOW_BITS, write_checksum=True, threads=0
)

XZ_PRESET: Final = 2
"""A dictionary of 2 MiB, and 17 MB of memory; xz's own default of 6 takes 94 MB."""

_GZIP_WINDOW_BITS: Final = 16 + zlib.MAX_WBITS


Compression = Literal["none", "gzip", "zstd"]
"""Compression of a whole object as one stream."""
AnyCompression = Compression | Literal["xz"]
"""Compression with the one that is for archives only: xz takes many times the CPU of the others."""
EXTENSIONS: Final[Mapping[AnyCompression, str]] = {"none": "", "gzip": ".gz", "zstd": ".zst", "xz": ".xz"}
"""Last extension of the names of such objects."""
CONTENT_TYPES: Final = {"gzip": "application/gzip", "zstd": "application/zstd", "xz": "application/x-xz"}


class Compressor(Protocol):
    """A stream of bytes on its way to an object."""

    def write(self, data: Bytes) -> Iterator[Bytes]:
        """Yield what is ready. To be exhausted before the next call; ``data`` must not change afterwards."""

    def finish(self) -> Iterator[Bytes]:
        """Yield the rest."""


def compressor(compression: AnyCompression) -> Compressor:
    """Return a new compressor for one object."""
    match compression:
        case "none":
            return _Uncompressed()
        case "gzip":
            # One member; ISA-L leaves the time stamp 0, the file name out, and the operating system "unknown".
            return _Compressed(isal_zlib.compressobj(GZIP_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW_BITS))
        case "zstd":
            return _Compressed(zstandard.ZstdCompressor(compression_params=_ZSTD_PARAMETERS).compressobj())
        case "xz":
            return _Compressed(lzma.LZMACompressor(lzma.FORMAT_XZ, preset=XZ_PRESET))


def deflate(data: Bytes) -> bytes:
    """Compress one whole buffer in zlib's format (RFC 1950), which is what Hadoop's ``DefaultCodec`` reads."""
    return isal_zlib.compress(data, DEFLATE_LEVEL)


class Chunks:
    """Cuts a stream of buffers into chunks of exactly ``size`` bytes; where the buffers began and ended is forgotten.

    Whole chunks inside one buffer are views of it; only bytes of chunks that straddle two buffers are copied.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._partial = bytearray()

    def add(self, data: Bytes) -> Iterator[bytearray | memoryview]:
        """Yield the chunks that ``data`` completes."""
        view = memoryview(data)
        position = 0
        if self._partial:
            position = self._size - len(self._partial)
            self._partial += view[:position]
            if len(self._partial) < self._size:
                return
            yield self._partial
            self._partial = bytearray()
        while len(view) - position >= self._size:
            yield view[position : position + self._size]
            position += self._size
        self._partial += view[position:]

    def rest(self) -> bytearray:
        """Return the last, incomplete chunk; may be empty."""
        rest, self._partial = self._partial, bytearray()
        return rest


class _Uncompressed:
    def write(self, data: Bytes) -> Iterator[Bytes]:
        yield data

    def finish(self) -> Iterator[Bytes]:
        return iter(())


class _CompressObject(Protocol):
    """What zlib, ISA-L and zstandard call a compress object."""

    def compress(self, data: bytes | bytearray | memoryview, /) -> bytes: ...

    def flush(self) -> bytes: ...


class _Compressed:
    def __init__(self, compress_object: _CompressObject) -> None:
        self._compress_object = compress_object
        self._chunks = Chunks(CHUNK_BYTES)

    def write(self, data: Bytes) -> Iterator[Bytes]:
        for chunk in self._chunks.add(data):
            if ready := self._compress_object.compress(chunk):
                yield ready

    def finish(self) -> Iterator[Bytes]:
        yield self._compress_object.compress(self._chunks.rest()) + self._compress_object.flush()
