"""Translates a protobuf message into columns that fit all that it can hold. Pure; docs/schemas.md has the table."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Final

from logpersister.schemas.errors import NoColumnsError
from logpersister.schemas.types import (
    MOST_COLUMNS,
    Binary,
    Decimal,
    ListOf,
    MapOf,
    Member,
    Plain,
    Timestamp,
    Type,
)
from logpersister.schemas.written_column import (
    TOO_MANY,
    NoColumnError,
    TypeWalk,
    WrittenColumn,
)
from logpersister.values.protobuf.schema import Enum, Field, Schema, read_schema
from logpersister.values.protobuf.well_known import JSON, TIMESTAMP, WRAPPED

_UNSIGNED: Final = Decimal(20, 0)
"""All numbers of 64 bits without a sign."""
_TYPES: Final[Mapping[str, Type]] = {
    "bool": Plain("bool"),
    **dict.fromkeys(("int32", "sint32", "sfixed32"), Plain("int32")),
    **dict.fromkeys(("int64", "sint64", "sfixed64", "uint32", "fixed32"), Plain("int64")),
    **dict.fromkeys(("uint64", "fixed64"), _UNSIGNED),
    "float": Plain("float32"),
    "double": Plain("float64"),
    "string": Plain("string"),
    "bytes": Binary(),
    "enum": Plain("string"),
}


def columns_of(text: str, message: str | None, *, as_reader: bool = False) -> list[WrittenColumn]:
    """Return a column for each field of a message. Raises SchemaTextError.

    Args:
        text: the schema, as `read_schema` takes it.
        message: its name; None: the first one.
        as_reader: whether what cannot be absent is required, with zero for its default. Otherwise nothing is required,
            so that later writers may leave a field out.
    """
    schema = read_schema(text)
    types = _Types(schema, as_reader=as_reader)
    name = schema.message(message)
    if as_reader and len(schema.messages[name]) > MOST_COLUMNS:
        raise NoColumnsError(TOO_MANY)
    return [types.column(one, name) for one in schema.messages[name]]


def zero_of(kind: str, enum: Enum | None) -> str | None:
    """Return as JSON what a scalar is that is not there; None: a message, which is null then."""
    match kind:
        case "message" | "group":
            return None
        case "enum":
            return json.dumps(next((name for number, name in enum.values if number == 0), "0") if enum else "0")
        case "string" | "bytes":
            return '""'
        case "bool":
            return "false"
        case _:
            return "0"


class _Types:
    def __init__(self, schema: Schema, *, as_reader: bool) -> None:
        self._schema = schema
        self._as_reader = as_reader
        self._walk = TypeWalk()

    def column(self, one: Field, message: str) -> WrittenColumn:
        return self._walk.column(one.name, self._told(one), partial(self._member, one, 1, (message,)))

    def _told(self, one: Field) -> str:
        if one.repeated and one.of in self._schema.entries:
            key, value = self._schema.messages[one.of]
            return f"map<{self._told(key)}, {self._told(value)}>"
        return ("repeated " if one.repeated else "") + (one.of or one.kind)

    def _member(self, one: Field, depth: int, above: tuple[str, ...]) -> Member:
        """Return a column or a field of a struct. Raises `NoColumnError`."""
        if one.repeated:
            is_map = one.of in self._schema.entries
            inner = self._schema.messages[one.of][1] if is_map else one
            found = self._walk.inside("{}" if is_map else "[]", lambda: self._value(inner, depth + 1, above))
            default = ("{}" if is_map else "[]") if self._as_reader else None
            many: Type = MapOf(found, self._as_reader) if is_map else ListOf(found, self._as_reader)
            return Member(one.name, many, self._as_reader, default)
        type_ = self._value(one, depth, above)
        if not self._as_reader or one.presence == "explicit":
            return Member(one.name, type_, required=False)
        default = zero_of(one.kind, self._schema.enums.get(one.of)) if one.presence == "implicit" else None
        return Member(one.name, type_, required=True, default=default)

    def _value(self, one: Field, depth: int, above: tuple[str, ...]) -> Type:
        self._walk.add(depth)
        if one.kind not in ("message", "group"):
            return _TYPES[one.kind]
        if one.of == TIMESTAMP:
            self._walk.note("digits of a second behind the sixth are cut off; timestamp[ns] in fields has nine")
            return Timestamp("us")
        if one.of in JSON:
            return Plain("json")
        if one.of in WRAPPED:
            return _TYPES[WRAPPED[one.of]]
        return self._struct(one.of, depth, above)

    def _struct(self, name: str, depth: int, above: tuple[str, ...]) -> Type:
        if name in above:
            raise NoColumnError(f"{name} has itself in it")
        fields = self._schema.messages[name]
        return self._walk.struct((one.name, partial(self._member, one, depth + 1, (*above, name))) for one in fields)
