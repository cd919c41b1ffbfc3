"""What stands before values and names their schemas, read in plain Python; no code of the native parser is in it."""

import zlib
from typing import Final

from logpersister.values.parser import Framing
from tests.judges.refusal import RefusalError

GIVEN: Final = 0
"""Id of the schema of values without a header."""
_DEFLATED: Final = 5
_MOST, _MOST_OF_A_BYTE, _MOST_OF_A_STREAM = 4 << 10, 64, 64 << 20
"""Bytes that a zlib stream may become, for each byte of it so many more, and the most for any."""
_ID_BYTES: Final = {"confluent": (b"\0", 4), "apicurio": (b"\0", 8), "singleObject": (b"\xc3\x01", 8)}


def split(value: bytes, framing: Framing) -> tuple[int, bytes]:
    """Return the id of the schema, and what it has written. Raises `RefusalError`."""
    schema_id, body, is_deflated = _taken_apart(value, framing)
    return schema_id, _inflated(body) if is_deflated else body


def _taken_apart(value: bytes, framing: Framing) -> tuple[int, bytes, bool]:
    if framing == "plain":
        return GIVEN, value, False
    if framing == "glue":
        if len(value) < 18 or value[0] != 3 or value[1] not in (0, _DEFLATED):
            raise RefusalError("no_header")
        return int.from_bytes(value[2:18], "big"), value[18:], value[1] == _DEFLATED
    magic, size = _ID_BYTES[framing]
    end = len(magic) + size
    if len(value) < end or not value.startswith(magic):
        raise RefusalError("no_header")
    number = value[len(magic) : end]
    return int.from_bytes(number, "little" if framing == "singleObject" else "big"), value[end:], False


def _inflated(stream: bytes) -> bytes:
    most = min(_MOST + _MOST_OF_A_BYTE * len(stream), _MOST_OF_A_STREAM)
    inflater = zlib.decompressobj()
    try:
        found = inflater.decompress(stream, most + 1)
    except zlib.error:
        raise RefusalError("bad_compression") from None
    if len(found) > most or not inflater.eof or inflater.unused_data:
        raise RefusalError("bad_compression")
    return found
