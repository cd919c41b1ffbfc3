"""Blocks that are compressed one by one. All of these raise `ContentError`, also for more bytes than allowed."""

import zlib
from collections.abc import Callable

import pyarrow as pa
import zstandard

from logpersister.verify.streams import ContentError

Inflate = Callable[[bytes, int], bytes]
"""Returns what a block becomes; at most so many bytes."""


def deflate(content: bytes, most: int) -> bytes:
    """Inflate one whole deflate stream without header."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        found = stream.decompress(content, most)
    except zlib.error as error:
        raise ContentError(f"a block in it is damaged ({error})") from None
    _bounded(len(found) + bool(stream.unconsumed_tail), most)
    if not stream.eof or stream.unused_data:
        raise ContentError("a block in it is not one whole deflate stream")
    return found


def zstd(content: bytes, most: int) -> bytes:
    """Inflate what zstandard has compressed."""
    stream = zstandard.ZstdDecompressor().stream_reader(content)
    try:
        found: bytes = stream.read(most + 1)
    except zstandard.ZstdError as error:
        raise ContentError(f"a block in it is damaged ({error})") from None
    _bounded(len(found), most)
    return found


def snappy(block: bytes, most: int) -> bytes:
    """Inflate what snappy has compressed, without a frame."""
    size = shift = 0
    for byte in block[:5]:  # what snappy begins with: seven bits a byte, the lowest first
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    _bounded(size, most)
    try:
        found: bytes = pa.decompress(block, decompressed_size=size, codec="snappy", asbytes=True)
    except (pa.ArrowException, OSError) as error:
        raise ContentError(f"a block in it is damaged ({error})") from None
    return found


def stored(content: bytes, most: int) -> bytes:
    """Return what is not compressed."""
    _bounded(len(content), most)
    return content


def _bounded(size: int, most: int) -> None:
    if size > most:
        raise ContentError(f"a block in it has more than {most:,} bytes")
