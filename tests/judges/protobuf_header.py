"""What stands before a protobuf message: the id of its schema, and which message of it. No native code is in it."""

from typing import Final

from logpersister.manifest.parser import Framing
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.schema import Schema
from tests.judges import headers
from tests.judges.protobuf_input import SIZED, Cursor, parts_of, text_of
from tests.judges.protobuf_values import signed
from tests.judges.refusal import RefusalError

_MOST_INDEXES: Final = 32
_LONGEST_NUMBER: Final = 10

Selector = tuple[int, ...] | str | int | None
"""Places of a message and of those around it, its name, or its place among all of the file in the order of names; None:
the manifest names it."""


def split(value: bytes, framing: Framing) -> tuple[int, Selector, bytes]:
    """Return the id of the schema, what names the message, and the message. Raises `RefusalError`."""
    schema_id, data = headers.split(value, framing)
    selector, message = _taken_apart(data, framing)
    return schema_id, selector, message


def begin(value: bytes, framing: Framing) -> tuple[int, Selector]:
    """Return the id of the schema, and what names the message. Raises `RefusalError`."""
    schema_id, data = headers.begin(value, framing, _LONGEST_NUMBER if framing == "glue" else len(value))
    return schema_id, _taken_apart(data, framing)[0]


def _taken_apart(data: bytes, framing: Framing) -> tuple[Selector, bytes]:
    cursor = Cursor(data)
    try:
        match framing:
            case "confluent":
                selector: Selector = _indexes(cursor)
            case "apicurio":
                selector = _reference(cursor.sized())
            case "glue":
                selector = _place(cursor)
            case _:
                selector = None
    except RefusalError:
        raise RefusalError("no_header") from None
    return selector, cursor.take(cursor.left)


def _place(cursor: Cursor) -> int:
    place = cursor.varint()
    if place >= 2**32:
        raise RefusalError("no_header")
    return place


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
        if isinstance(selector, int):
            names = sorted(name for name in schema.messages if _is_of_file(schema, name))
            found = names[selector] if selector < len(names) else None
        elif isinstance(selector, tuple):
            found = schema.at(selector)
        else:
            found = schema.message(given if selector is None else selector)
    except ProtobufError:
        found = None
    if found is None:
        raise RefusalError("other_schema")
    return found


def _is_of_file(schema: Schema, name: str) -> bool:
    """Whether a message, or what it is in, is one of the file."""
    return any(name == root.name or name.startswith(f"{root.name}.") for root in schema.roots)
