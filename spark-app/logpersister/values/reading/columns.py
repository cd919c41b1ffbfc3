"""Translates columns into the Arrow schema of rows."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import pyarrow as pa

from logpersister.schemas.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Time, Timestamp, Type
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import RowSchema

NOTATION: Final = b"logpersister.notation"
"""Key of a field's metadata: how values have it, where the type does not say it."""
DEFAULT: Final = b"logpersister.default"
ALIASES: Final = b"logpersister.aliases"
"""Keys of a field's metadata: what `Member` has beside its type, as JSON."""
UTC: Final = "UTC"
DEFAULT_NOTATION: Final = "rfc3339"
MOST_BYTES_AT_ONCE: Final = 64 << 20
DEFLATED_BYTES: Final = 64 << 10
"""Most bytes made rows at once where values may be deflated: they grow up to 64 times before they are rows."""

_PLAIN: "Final[dict[str, pa.DataType]]" = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "json": pa.string(),
}


def row_columns(schema: RowSchema) -> pa.Schema:
    """Return the columns of rows: their names and types, whether they may be null, and the notation in values."""
    return pa.schema([_member(one, one.format or DEFAULT_NOTATION) for one in schema.columns])


@dataclass(frozen=True, slots=True)
class Portion:
    """Portion of a batch that is made rows of at once."""

    rows: int
    bytes: int | None = None
    """Most bytes of keys and values; None: no bound, `rows` alone decides."""

    def holds(self, batch: pa.RecordBatch) -> bool:
        """Whether it is known that a batch may be one portion."""
        return self.bytes is None and batch.num_rows <= self.rows


def most_rows(schema: RowSchema) -> int:
    """Return how many rows may be made at once. The shortest value, ``{}``, takes its place in each column, too."""
    return max(1, MOST_BYTES_AT_ONCE // sum(_least(field) for field in row_columns(schema)))


def portion_of(parser: Parsing, schema: RowSchema) -> Portion | None:
    """Return how many values, and keys, are made rows of at once; None: of any number none are made."""
    if not schema.has_columns:
        return None
    framings = {parser.framing, "plain" if schema.key is None else schema.key.framing}
    return Portion(most_rows(schema), DEFLATED_BYTES if "glue" in framings else None)


def without_notation(schema: pa.Schema) -> pa.Schema:
    """Return the schema as files have it, without our metadata."""
    return pa.schema([bare(field) for field in schema])


def map_of(key: "pa.Field[Any]", value: "pa.Field[Any]") -> pa.DataType:
    """Return the type of maps whose keys and values are fields, with all that belongs to a field."""
    make: Callable[[pa.Field[Any], pa.Field[Any]], pa.DataType] = cast("Any", pa.map_)  # the stubs know types only
    return make(key, value)


def _member(one: Member, notation: str) -> "pa.Field[Any]":
    found = _field(one.name, one.type, required=one.required, notation=notation)
    metadata = dict(found.metadata or {})
    if one.default is not None:
        metadata[DEFAULT] = one.default.encode()
    if one.aliases:
        metadata[ALIASES] = json.dumps(one.aliases).encode()
    return found.with_metadata(cast("Any", metadata)) if metadata else found


def _field(name: str, type_: Type, *, required: bool, notation: str) -> "pa.Field[Any]":
    metadata = _notation(type_, notation)
    arrow = _arrow(type_, notation)
    return pa.field(name, arrow, nullable=not required, metadata={NOTATION: metadata.encode()} if metadata else None)


def _notation(type_: Type, of_timestamps: str) -> str | None:
    match type_:
        case Timestamp():
            return of_timestamps
        case Binary():
            return "base64"
        case Plain("json"):
            return "json"
        case _:
            return None


def _arrow(type_: Type, notation: str) -> pa.DataType:  # noqa: PLR0911  (one for each type)
    match type_:
        case Plain(name):
            return _PLAIN[name]
        case Binary():
            return pa.binary()
        case Time(unit):
            return pa.time32("ms") if unit == "ms" else pa.time64("us")
        case Timestamp(unit):
            return pa.timestamp(unit, UTC)
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Struct(members):
            return pa.struct([_member(one, notation) for one in members])
        case ListOf(item, required):
            return pa.list_(_field("element", item, required=required, notation=notation))
        case MapOf(value, required):
            key = pa.field("key", pa.string(), nullable=False)
            return map_of(key, _field("value", value, required=required, notation=notation))


def _least(field: "pa.Field[Any]") -> int:
    """Return the bytes that a field takes in a record that does not have it."""
    return _width(field.type) + len((field.metadata or {}).get(DEFAULT, b""))


def _width(type_: Any) -> int:
    """Return the bytes of a null: what lists, maps and text hold comes with the value."""
    if pa.types.is_struct(type_):
        return sum(_width(field.type) for field in type_)
    has_offset = (
        pa.types.is_list(type_) or pa.types.is_map(type_) or pa.types.is_string(type_) or pa.types.is_binary(type_)
    )
    return 4 if has_offset else max(1, type_.bit_width // 8)


def bare(field: "pa.Field[Any]", *, optional: bool = False) -> "pa.Field[Any]":
    """Return a field without metadata at any depth; `optional`: of a table, in which all may be null."""
    return pa.field(field.name, _bare_type(field.type, optional=optional), nullable=optional or field.nullable)


def _bare_type(type_: Any, *, optional: bool) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([bare(field, optional=optional) for field in type_])
    if pa.types.is_map(type_):
        return map_of(type_.key_field, bare(type_.item_field, optional=optional))
    if pa.types.is_list(type_):
        item = type_.value_field.with_name("element") if optional else type_.value_field
        return pa.list_(bare(item, optional=optional))
    found: pa.DataType = type_
    return found
