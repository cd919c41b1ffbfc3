"""Types in messages of protobuf found once more, value by value in plain Python; docs/types.md says what they are.

No code that finds types for members is in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from logpersister.manifest.event_types import TypesSpec
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.schema import Field, Schema, read_schema
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.writers import Writers, can_exist
from tests.judges.protobuf_header import selected, split
from tests.judges.protobuf_input import SIZED, Part, parts_of
from tests.judges.protobuf_values import is_known, wire_of
from tests.judges.refusal import RefusalError


class _NoTypeError(Exception):
    """A value has no type."""


@dataclass(frozen=True)
class MessageTypeOracle:
    """Tells the types of messages, and what parsers get of them."""

    types: TypesSpec
    parser: ParserSpec
    schema: SchemaSpec | None
    writers: Writers | None

    def name(self, value: bytes) -> str | None:
        """Return the type of a value; None: it has none. Raises `RefusalError` where nobody knows its schema."""
        try:
            name, _ = self._found(value)
            return name.decode()
        except (_NoTypeError, UnicodeDecodeError):
            return None

    def body(self, value: bytes) -> bytes:
        """Return what parsers get of a value that has a type."""
        return self._found(value)[1]

    def head(self, value: bytes) -> bytes:
        """Return what stands around it: the whole value."""
        return value

    def numbers(self, _: bytes) -> Mapping[str, int]:
        """Return no further columns."""
        return {}

    def time(self, _: bytes) -> None:
        """Return no timestamp: that of the record counts."""

    def _found(self, value: bytes) -> tuple[bytes, bytes]:
        """Return the type, and the part of the message that is of it."""
        try:
            writer_id, selector, data = split(value, self.parser.framing)
        except RefusalError:
            raise _NoTypeError from None
        is_any_itself = self.types.any is not None and self.types.any.field is None
        schema = Schema() if is_any_itself else self._schemas.get(writer_id) or self._schema(writer_id)
        try:
            if is_any_itself:
                return _any(data)
            given = self.schema.message if self.schema is not None and self.parser.framing == "plain" else None
            return self._inside(schema, selected(schema, selector, given), data)
        except RefusalError:
            raise _NoTypeError from None

    def _inside(self, schema: Schema, message: str, data: bytes) -> tuple[bytes, bytes]:
        oneof = self.types.oneof
        path = (oneof.name if oneof is not None else _field_of(self.types)).split(".")
        for name in path if oneof is None else path[:-1]:
            field = next((one for one in schema.messages[message] if one.name == name), None)
            if field is None or field.repeated or field.kind not in ("message", "group"):
                raise _NoTypeError
            data, message = _only(schema, message, field, data), field.of
        if oneof is None:
            if message != "google.protobuf.Any":
                raise _NoTypeError
            return _any(data)
        if path[-1] not in schema.oneofs[message]:
            raise _NoTypeError
        index = schema.oneofs[message].index(path[-1])
        return self._set(schema, [one for one in schema.messages[message] if one.oneof == index], data)

    def _set(self, schema: Schema, members: Sequence[Field], data: bytes) -> tuple[bytes, bytes]:
        """Return the member that was set last, and what is in it."""
        by_number = {one.number: one for one in members}
        found: tuple[Field, list[bytes]] | None = None
        for part in parts_of(data):
            field = by_number.get(part.number)
            if field is None or not _is_of(schema, field, part):
                continue
            is_more = found is not None and found[0] is field and field.kind in ("message", "group")
            found = (field, [*found[1], part.data]) if is_more and found is not None else (field, [part.data])
        if found is None:
            raise _NoTypeError
        field, pieces = found
        if field.kind in ("message", "group", "string", "bytes"):
            return field.name.encode(), _merged(pieces)
        if self.types.hands_parts:
            raise _NoTypeError
        return field.name.encode(), b""

    @cached_property
    def _schemas(self) -> dict[int, Schema]:
        return {}

    def _schema(self, writer_id: int) -> Schema:
        text = None if self.schema is None else self.schema.protobuf
        if self.parser.framing != "plain":
            if self.writers is None or not can_exist(writer_id, self.parser.framing):
                raise RefusalError("unknown_schema")
            found = self.writers.schemas([writer_id])[writer_id]
            if found.is_unknown:
                raise RefusalError("unknown_schema")
            text = found.text
        try:
            self._schemas[writer_id] = Schema() if text is None else read_schema(text)
        except ProtobufError:
            self._schemas[writer_id] = Schema()
        return self._schemas[writer_id]


def _field_of(types: TypesSpec) -> str:
    return (types.any.field if types.any is not None else None) or ""


def _only(schema: Schema, message: str, field: Field, data: bytes) -> bytes:
    """Return what is in a field of a message: all pieces, unless another field of its oneof has come since."""
    others = {
        one.number: one
        for one in schema.messages[message]
        if one.oneof is not None and one.oneof == field.oneof and one.number != field.number
    }
    pieces: list[bytes] = []
    for part in parts_of(data):
        if (part.number, part.wire) == (field.number, wire_of(field)):
            pieces.append(part.data)
        elif part.number in others and _is_of(schema, others[part.number], part):
            pieces = []
    if not pieces:
        raise _NoTypeError
    return _merged(pieces)


def _is_of(schema: Schema, field: Field, part: Part) -> bool:
    return part.wire == wire_of(field) and is_known(field, part, schema)


def _merged(pieces: Sequence[bytes]) -> bytes:
    if len(pieces) > 1:
        for piece in pieces:
            list(parts_of(piece))
    return b"".join(pieces)


def _any(data: bytes) -> tuple[bytes, bytes]:
    url = value = b""
    for part in parts_of(data):
        if (part.number, part.wire) == (1, SIZED):
            url = part.data
        elif (part.number, part.wire) == (2, SIZED):
            value = part.data
    name = url.split(b"/")[-1]
    if not name:
        raise _NoTypeError
    return name, value
