"""What stands before a protobuf message: the id of its schema, and which message of it. No native code is in it."""

from typing import Final

from logpersister.manifest.parser import Framing
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.schema import Schema
from logpersister.records.writers import ID_BYTES
from logpersister.verify.protobuf_input import SIZED, Cursor, parts_of
from logpersister.verify.protobuf_json import text_of
from logpersister.verify.protobuf_values import signed
from logpersister.verify.refusal import RefusalError

PLAIN_ID: Final = 0
_MOST_INDEXES: Final = 32

Selector = tuple[int, ...] | str | None
"""Places of a message and of those around it, or its name; None: the manifest names it."""


def split(value: bytes, framing: Framing) -> tuple[int, Selector, bytes]:
    """Return the id of the schema, what names the message, and the message. Raises `RefusalError`."""
    if framing == "plain":
        return PLAIN_ID, None, value
    size = 1 + ID_BYTES[framing]
    if len(value) < size or value[0] != 0:
        raise RefusalError("no_header")
    try:
        cursor = Cursor(value[size:])
        selector = _indexes(cursor) if framing == "confluent" else _reference(cursor.sized())
    except RefusalError:
        raise RefusalError("no_header") from None
    return int.from_bytes(value[1:size], "big"), selector, cursor.take(cursor.left)


def _indexes(cursor: Cursor) -> tuple[int, ...]:
    count = signed(cursor.varint())
    if not 0 <= count <= _MOST_INDEXES:
        raise RefusalError("no_header")
    return tuple(signed(cursor.varint()) for _ in range(count)) or (0,)


def _reference(data: bytes) -> str:
    name = ""
    for part in parts_of(data):
        if (part.number, part.wire) == (1, SIZED):
            name = text_of(part.data)
    return name


def selected(schema: Schema, selector: Selector, given: str | None) -> str:
    """Return the name of a message of a schema; `given`: by the manifest. Raises `RefusalError`."""
    try:
        if isinstance(selector, tuple):
            found = schema.at(selector)
        else:
            found = schema.message(given if selector is None else selector)
    except ProtobufError:
        found = None
    if found is None:
        raise RefusalError("other_schema")
    return found
