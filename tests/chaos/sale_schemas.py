"""The schema of sales in all its versions: fields are added and widened, and one version may read none before it."""

from collections.abc import Mapping, Sequence
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
_REQUIRED: Schema = {"name": "origin", "type": "string"}
"""What the version adds that cannot read the ones before: they have neither it nor a default for it."""
ADDED_BY_REFUSED: Final = _REQUIRED["name"]
_MENDED: Schema = _REQUIRED | {"default": "web"}
DEFAULTS: Mapping[str, Any] = {one["name"]: one["default"] for one in (*_ADDED, _MENDED)}


def versions(mended_at: int = 0) -> list[Schema]:
    """Return all versions in their order.

    Args:
        mended_at: from which one on there is the field that a version without a default for it had added; 0: never.
    """
    fields = {one["name"]: one for one in _FIRST}
    found = []
    for number, added in enumerate((None, *_ADDED), start=1):
        if added is not None:
            fields[added["name"]] = added
        if number == mended_at:
            fields[_MENDED["name"]] = _MENDED
        found.append(_record(fields.values()))
    return found


def refused_version(at: int) -> Schema:
    """Return a version that can read none before it; otherwise it is as version ``at``."""
    return _record([*SCHEMAS[at - 1]["fields"], _REQUIRED])


def _record(fields: Any) -> Schema:
    return {"type": "record", "name": "Sale", "fields": list(fields)}


SCHEMAS: Final = versions()
MENDED: Final = len(SCHEMAS)
"""What the number of a version with the mended field has more than that of the one without: it is newer than any."""


def _columns(schema: Schema) -> tuple[tuple[str, str], ...]:
    return tuple((one["name"], "long" if one["type"] == "long" else "") for one in schema["fields"])


COLUMNS: Mapping[tuple[tuple[str, str], ...], int] = {
    **{_columns(schema): number for number, schema in enumerate(SCHEMAS, start=1)},
    **{
        _columns(schema): MENDED + number
        for at in range(1, len(SCHEMAS) + 1)
        for number, schema in enumerate(versions(at), start=1)
        if number >= at
    },
}
"""The version of each set of columns; whole numbers by their width."""
