"""Format ``orc``: rows of ``spec.value``, or values as they are, with Kafka's own fields by choice.

Memory: a stripe of each open object waits in the writer as it will be stored, and some rows as Arrow.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Final, Literal, cast

import pyarrow as pa
from pyarrow import orc

from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.columnar import ColumnarFormat
from logpersister.formats.cuts import payload_sizes
from logpersister.formats.file_columns import Columns
from logpersister.formats.orc.instants import with_whole_seconds
from logpersister.formats.orc.settings import OrcSpec
from logpersister.formats.orc.structs import with_whole_structs
from logpersister.formats.row_groups import RowGroups


class Sink:
    """A file that hands over what was written to it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: what was written can be taken."""

    def close(self) -> None:
        self.closed = True

    def taken(self) -> list[bytes]:
        """Return what was written since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces


RULES: Final = 2
"""Raise it when an object gets another extension, or records become other columns, values, rows or stripes."""

GROUP_BYTES: Final = 1 << 20
"""Keys and values that the writer gets at once. It ends stripes by itself, so where depends on this cut."""
_DICTIONARY_RATIO: Final = 0.8
"""A column of text has a dictionary if at most this share of its first 10,000 values differ; as in Java's writer."""
_CODECS: "Final[Mapping[str, Literal['ZSTD', 'SNAPPY', 'ZLIB', 'UNCOMPRESSED']]]" = {
    "zstd": "ZSTD",
    "snappy": "SNAPPY",
    "zlib": "ZLIB",
    "none": "UNCOMPRESSED",
}
_BLOCK_BYTES: Final = 64 << 10
"""Compression block of a stream. Larger ones made files no smaller, and take memory in each stream."""


class OrcFormat(ColumnarFormat[OrcSpec]):
    """`formats.base.Format` for ORC."""

    extension = ".orc"
    content_type = "application/vnd.apache.orc"

    @property
    def held_back(self) -> int:
        return self.settings.stripe_bytes + 2 * GROUP_BYTES

    def encoder(self, identity: ObjectIdentity) -> "OrcEncoder":
        return OrcEncoder(self.settings, identity, self.columns_at(identity.path))


class OrcEncoder:
    """`formats.base.Encoder` for ORC. Exhaust what a call returns before the next call."""

    def __init__(self, settings: OrcSpec, identity: ObjectIdentity, columns: Columns) -> None:
        self._identity = identity
        self._columns = columns
        self._groups = RowGroups(GROUP_BYTES)
        self._sink = Sink()
        self._writer = orc.ORCWriter(
            cast("IO[bytes]", self._sink),
            stripe_size=settings.stripe_bytes,
            compression=_CODECS[settings.compression],
            compression_block_size=_BLOCK_BYTES,
            dictionary_key_size_threshold=_DICTIONARY_RATIO,
        )
        self._writer.write(columns.schema.empty_table())  # which tells it the columns, should no row follow

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        batch = self._columns.kept(batch)
        rows = with_whole_seconds(self._columns.rows(batch, self._identity))
        return self._written(self._groups.add(rows, payload_sizes(batch)))

    def finish(self) -> Iterator[Bytes]:
        yield from self._written(self._groups.rest())
        self._writer.close()
        yield from with_calendar(self._sink.taken())

    def _written(self, groups: Iterable[pa.Table]) -> Iterator[Bytes]:
        for group in groups:
            self._writer.write(with_whole_structs(group))
            yield from self._sink.taken()


_CALENDAR: Final = b"\x58\x02"
"""Field 11 of ``Footer``: ``calendar`` is ``PROLEPTIC_GREGORIAN``."""
_AS_IT_IS: Final = (len(_CALENDAR) << 1 | 1).to_bytes(3, "little")
"""Begins a block of a stream that is not compressed."""
_FOOTER_LENGTH: Final = 0x08
"""Tag of field 1 of ``PostScript``, which the writer writes first; then comes field 2, ``compression``."""
_NOT_COMPRESSED: Final = b"\x10\x00"


def with_calendar(pieces: list[bytes]) -> Iterator[bytes]:
    """Yield the last pieces of a file with the calendar at the end of the footer, where protobuf takes it in.

    Without it, Java's readers, and so Spark and Hive, take dates and instants before 15 October 1582 for those of the
    Julian calendar, and shift them by days. Source: the specification of ORC 1, "File Tail"; ``orc_proto.proto``.
    """
    end = b""
    while not end or len(end) <= end[-1]:
        end = pieces.pop() + end
    yield from pieces
    begin = len(end) - 1 - end[-1]
    postscript = end[begin:-1]
    length, rest = _footer_length(postscript)
    added = _CALENDAR if rest.startswith(_NOT_COMPRESSED) else _AS_IT_IS + _CALENDAR
    postscript = bytes([_FOOTER_LENGTH]) + _varint(length + len(added)) + rest
    yield end[:begin] + added + postscript + bytes([len(postscript)])


def _footer_length(postscript: bytes) -> tuple[int, bytes]:
    """Return the length of the footer, and what follows it. Raises ValueError for what this writer does not write."""
    if postscript[0] != _FOOTER_LENGTH or not postscript.endswith(b"ORC"):
        raise ValueError("the postscript of an ORC file does not begin with the length of the footer")
    length = shift = 0
    for place, byte in enumerate(postscript[1:], 1):
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return length, postscript[place + 1 :]
    raise ValueError("the length of the footer of an ORC file has no end")


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
