"""The Avro schema of files: a record with the columns of a file as its fields. Pure."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

ROOT: Final = "logpersister"
ROW: Final = "row"
"""Name of the record; what is in it has names of its own below it, so that no name comes twice."""

_WORDS: "Final[Mapping[pa.DataType, Any]]" = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.time32("ms"): {"type": "int", "logicalType": "time-millis"},
    pa.time64("us"): {"type": "long", "logicalType": "time-micros"},
}
_INSTANTS: Final = {"s": "millis", "ms": "millis", "us": "micros", "ns": "nanos"}
"""Avro has no seconds."""


def schema_text(columns: pa.Schema) -> str:
    """Return the schema as JSON. Raises ValueError for a type that Avro has nothing for; the manifest allows none."""
    return json.dumps(_record(ROW, columns, ROOT), separators=(",", ":"))


def _record(name: str, fields: "Sequence[pa.Field[Any]] | pa.Schema", around: str) -> Mapping[str, Any]:
    inside = f"{around}.{name}"
    return {"type": "record", "name": name, "namespace": around, "fields": [_field(one, inside) for one in fields]}


def _field(field: "pa.Field[Any]", around: str) -> Mapping[str, Any]:
    found = {"name": field.name, "type": _union(field, around)}
    return found | {"default": None} if field.nullable else found


def _union(field: "pa.Field[Any]", around: str) -> Any:
    found = _type(field.name, field.type, around)
    return ["null", found] if field.nullable else found


def _type(name: str, type_: Any, around: str) -> Any:
    for is_kind, made in _MADE.items():
        if is_kind(type_):
            return made(name, type_, around)
    if type_ not in _WORDS:
        raise ValueError(f"{around}.{name}: Avro has nothing for {type_}")
    return _WORDS[type_]


_MADE: Final[Mapping[Callable[[Any], bool], Callable[[str, Any, str], Any]]] = {
    pa.types.is_struct: lambda name, type_, around: _record(name, list(type_), around),
    pa.types.is_map: lambda name, type_, around: {
        "type": "map",
        "values": _union(type_.item_field, f"{around}.{name}"),
    },
    pa.types.is_list: lambda name, type_, around: {
        "type": "array",
        "items": _union(type_.value_field, f"{around}.{name}"),
    },
    pa.types.is_decimal: lambda _name, type_, _around: {
        "type": "bytes",
        "logicalType": "decimal",
        "precision": type_.precision,
        "scale": type_.scale,
    },
    pa.types.is_timestamp: lambda _name, type_, _around: {
        "type": "long",
        "logicalType": f"timestamp-{_INSTANTS[type_.unit]}",
    },
}
