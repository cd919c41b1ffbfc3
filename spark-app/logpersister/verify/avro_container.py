"""A reader of Avro's object container files (specification 1.12), block by block, without code of the writer."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from logpersister.verify import inflating
from logpersister.verify.avro_input import Cursor
from logpersister.verify.inflating import Inflate
from logpersister.verify.refusal import RefusalError
from logpersister.verify.streams import ByteStream, ContentError

LARGEST_BLOCK: Final = (1 << 31) - 1
"""Bytes; Java reads each into one array."""


@dataclass(frozen=True, slots=True)
class Container:
    """A file of which the header is read."""

    schema: str
    """As JSON."""
    blocks: Iterator[tuple[int, Cursor]]
    """How many rows a block has, and the rows."""


def read_container(pieces: Iterable[bytes], most_inflated: int = LARGEST_BLOCK) -> Container:
    """Read the header of a file. This and `Container.blocks` raise `ContentError`.

    Args:
        pieces: the content of the file.
        most_inflated: bytes that one block may have.
    """
    stream = ByteStream(pieces)
    if stream.take(4) != b"Obj\x01":
        raise ContentError("it does not begin as an Avro file")
    metadata: dict[bytes, bytes] = {}
    while count := _long(stream):
        if count < 0:
            _long(stream)
        for _ in range(abs(count)):
            name = stream.take(_long(stream))
            metadata[name] = stream.take(_long(stream))
    codec = metadata.get(b"avro.codec", b"null").decode(errors="replace")
    if codec not in _CODECS:
        raise ContentError(f"its codec is {codec}")
    schema = metadata.get(b"avro.schema", b"").decode(errors="replace")
    return Container(schema, _blocks(stream, stream.take(16), _CODECS[codec], most_inflated))


def _blocks(stream: ByteStream, marker: bytes, inflated: Inflate, most_inflated: int) -> Iterator[tuple[int, Cursor]]:
    while not stream.ended:
        rows, size = _long(stream), _long(stream)
        content = inflated(stream.take(size), most_inflated)
        if stream.take(16) != marker:
            raise ContentError("a block in it has no sync marker")
        cursor = Cursor(content)
        if not 0 <= rows <= len(content):  # a row without any byte is none of ours, and there could be any number
            raise ContentError(f"a block in it has {rows} rows in {len(content)} bytes")
        yield rows, cursor
        if cursor.left:
            raise ContentError("a block in it has bytes left over")


def _long(stream: ByteStream) -> int:
    encoded = bytearray()
    while not encoded or encoded[-1] & 0x80:
        encoded += stream.take(1)
        if len(encoded) > 10:
            break
    try:
        return Cursor(bytes(encoded)).int64()
    except RefusalError:
        raise ContentError("a length in it is no number") from None


def _snappy(content: bytes, most: int) -> bytes:
    found = inflating.snappy(content[:-4], most)
    if zlib.crc32(found).to_bytes(4, "big") != content[-4:]:
        raise ContentError("a block in it has a wrong checksum")
    return found


_CODECS: Final[Mapping[str, Inflate]] = {
    "null": inflating.stored,
    "deflate": inflating.deflate,
    "zstandard": inflating.zstd,
    "snappy": _snappy,
}
