"""The schema of sales in all its versions: fields are added and widened."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Schema = dict[str, Any]

_MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
_MOMENT = {"type": "long", "logicalType": "timestamp-millis"}
_GEO = {
    "type": "record",
    "name": "Geo",
    "fields": [{"name": "country", "type": "string"}, {"name": "lat", "type": "double"}],
}
_FIRST: Sequence[Schema] = (
    {"name": "id", "type": "long"},
    {"name": "shop", "type": ["null", "string"]},
    {"name": "at", "type": _MOMENT},
    {"name": "price", "type": _MONEY},
    {"name": "note", "type": "string"},
)
_ADDED: Sequence[Schema] = (
    {"name": "coupon", "type": ["null", "string"], "default": None},
    {"name": "rating", "type": "int", "default": -1},
    {"name": "rating", "type": "long", "default": -1},
    {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
    {"name": "geo", "type": ["null", _GEO], "default": None},
)
"""What each further version adds, or widens."""
WIDENED: Final = 4
"""The version in which a column is wider than before."""
DEFAULTS: Mapping[str, Any] = {one["name"]: one["default"] for one in _ADDED}


def _versions() -> Iterator[Schema]:
    fields = {one["name"]: one for one in _FIRST}
    for added in (None, *_ADDED):
        if added is not None:
            fields[added["name"]] = added
        yield {"type": "record", "name": "Sale", "fields": list(fields.values())}


SCHEMAS: Final = list(_versions())


def _columns(schema: Schema) -> tuple[tuple[str, str], ...]:
    return tuple((one["name"], "long" if one["type"] == "long" else "") for one in schema["fields"])


COLUMNS: Mapping[tuple[tuple[str, str], ...], int] = {
    _columns(schema): number for number, schema in enumerate(SCHEMAS, start=1)
}
"""The version of each set of columns; whole numbers by their width."""
