"""Adds to the footer of an ORC file what pyarrow leaves out: that dates are counted by today's calendar.

Without it, Java's readers, and so Spark and Hive, take dates and instants before 15 October 1582 for those of the
Julian calendar, and shift them by days. Source: the specification of ORC 1, "File Tail"; ``orc_proto.proto``.
"""

from collections.abc import Iterator
from typing import Final

_CALENDAR: Final = b"\x58\x02"
"""Field 11 of ``Footer``: ``calendar`` is ``PROLEPTIC_GREGORIAN``."""
_AS_IT_IS: Final = (len(_CALENDAR) << 1 | 1).to_bytes(3, "little")
"""Begins a block of a stream that is not compressed."""
_FOOTER_LENGTH: Final = 0x08
"""Tag of field 1 of ``PostScript``, which the writer writes first; then comes field 2, ``compression``."""
_NOT_COMPRESSED: Final = b"\x10\x00"


def with_calendar(pieces: list[bytes]) -> Iterator[bytes]:
    """Yield the last pieces of a file with the calendar at the end of the footer, where protobuf takes it in."""
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
