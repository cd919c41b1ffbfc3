"""Lines of text in compressed objects."""

import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import zstandard

from logpersister.formats.damage import ContentError

XZ_MEMORY: Final = 128 << 20
"""Most bytes of memory for a stream of xz; one with the largest usual dictionary takes 65 MiB."""
COMPRESSED_BYTES: Final = 16 * 1024
"""What is decompressed at once: bounds memory also for content that compresses to a hundredth and less."""
_STREAMS: Final[Mapping[str, Callable[[], Any]]] = {
    "gzip": lambda: zlib.decompressobj(31),
    "zstd": lambda: zstandard.ZstdDecompressor().decompressobj(),
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY),
}


class Lines:
    """Cuts a stream at the delimiter, wherever the pieces of the stream end."""

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter
        self._pieces: list[bytes] = []
        self._tail = b""

    @property
    def rest(self) -> bytes:
        """What follows the last delimiter so far."""
        return b"".join(self._pieces)

    def of(self, piece: bytes) -> list[bytes]:
        """Return the lines that end in this piece."""
        # A long line is joined once, when it ends; a delimiter of several bytes may begin in an earlier piece.
        joint = self._tail + piece
        if self._delimiter not in joint:
            self._pieces.append(piece)
            self._tail = self._end_of(joint)
            return []
        *lines, rest = b"".join([*self._pieces, piece]).split(self._delimiter)
        self._pieces = [rest] if rest else []
        self._tail = self._end_of(rest)
        return lines

    def _end_of(self, text: bytes) -> bytes:
        return text[max(0, len(text) - len(self._delimiter) + 1) :]


def decompressed(compression: str, pieces: Iterable[bytes], at_once: int = COMPRESSED_BYTES) -> Iterator[bytes]:
    """Yield the stream that was compressed. Raises `ContentError` for one that is damaged or not whole.

    `at_once` is how many compressed bytes become one piece.
    """
    if compression == "none":
        yield from pieces
        return
    stream = _STREAMS[compression]()
    try:
        for piece in pieces:
            for begin in range(0, len(piece), at_once):
                if stream.eof:
                    raise ContentError(f"bytes follow the end of its {compression} stream")
                yield stream.decompress(piece[begin : begin + at_once])
    except (zlib.error, zstandard.ZstdError, lzma.LZMAError) as error:
        raise ContentError(f"its {compression} stream is damaged ({error})") from None
    if not stream.eof:
        raise ContentError(f"its {compression} stream is cut off")
    if stream.unused_data:
        raise ContentError(f"bytes follow the end of its {compression} stream")


def whole_lines(compression: str, pieces: Iterable[bytes], delimiter: bytes) -> Iterator[list[bytes]]:
    """Yield the lines of an object, some at once. Raises `ContentError` where it is damaged or cut off."""
    lines = Lines(delimiter)
    for piece in decompressed(compression, pieces):
        yield lines.of(piece)
    if lines.rest:
        raise ContentError(f"it does not end with the delimiter, but with {lines.rest[-40:]!r}")
