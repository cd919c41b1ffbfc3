"""Translates an Avro schema into columns that fit all that it can write. Pure; docs/schemas.md has the table."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.json_text import read_json
from logpersister.schemas.types import (
    MOST_DIGITS,
    Binary,
    Decimal,
    ListOf,
    MapOf,
    Member,
    Plain,
    Struct,
    Time,
    Timestamp,
    TimestampUnit,
    Type,
)
from logpersister.schemas.written_column import (
    REFUSED,
    NoColumnError,
    TypeWalk,
    WrittenColumn,
)

_PLAIN: Final[Mapping[str, Type]] = {
    "boolean": Plain("bool"),
    "int": Plain("int32"),
    "long": Plain("int64"),
    "float": Plain("float32"),
    "double": Plain("float64"),
    "string": Plain("string"),
    "bytes": Binary(),
    "fixed": Binary(),
    "enum": Plain("string"),
}
_LOGICAL: Final[Mapping[tuple[str, str], Type]] = {
    ("int", "date"): Plain("date"),
    ("int", "time-millis"): Time("ms"),
    ("long", "time-micros"): Time("us"),
}
_UNITS: Final[Mapping[str, TimestampUnit]] = {"millis": "ms", "micros": "us", "nanos": "ns"}
_NUMBERS: Final = ("int", "long", "float", "double")


def columns_of(text: str, *, as_reader: bool = False) -> list[WrittenColumn]:
    """Return a column for each field of a schema that refers to nothing outside of it. Raises SchemaTextError.

    Args:
        text: the schema, as JSON.
        as_reader: whether values are resolved to it as to the reader's schema of Avro's specification: what has no null
            is required, and defaults and aliases count. Otherwise nothing is required, so that later writers may leave
            a field out.
    """
    types = _Types(as_reader=as_reader)
    try:
        root = read_json(text)
        root = root if isinstance(root, dict) else {}
        types.note(root, "")
        if root.get("type") != "record":
            raise SchemaTextError("its values are no records")
        space = _namespace(root, "")
        return [_column(types, field, space) for field in root["fields"]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, SchemaTextError):
            raise
        raise SchemaTextError("it is no Avro schema") from None


def _column(types: "_Types", field: Mapping[str, Any], namespace: str) -> WrittenColumn:
    def make() -> Member:
        return types.member(field, types.type(field["type"], namespace, 1, ()))

    return types.walk.column(str(field["name"]), _told(field["type"]), make)


def _told(node: Any) -> str:
    if isinstance(node, list):
        return ", ".join(map(_told, node))
    if isinstance(node, dict):
        name, logical = str(node.get("name") or _told(node.get("type"))), node.get("logicalType")
        return name if logical is None else f"{name} ({logical})"
    return str(node)


def _namespace(node: Mapping[str, Any], around: str) -> str:
    return _full(str(node["name"]), str(node.get("namespace", around))).rpartition(".")[0]


def _full(name: str, namespace: str) -> str:
    return f"{namespace}.{name}" if namespace and "." not in name else name


class _Types:
    """The named types of a schema, and the types of columns."""

    def __init__(self, *, as_reader: bool) -> None:
        self._as_reader = as_reader
        self.walk = TypeWalk()
        self._named: dict[str, tuple[Mapping[str, Any], str]] = {}
        """Named types, each with the namespace in which it stands."""

    def note(self, node: Any, namespace: str) -> None:
        """Note all types that have a name, wherever they stand."""
        if isinstance(node, list):
            for one in node:
                self.note(one, namespace)
        elif isinstance(node, dict):
            inside = namespace
            if "name" in node and node.get("type") in ("record", "error", "enum", "fixed"):
                self._named[_full(str(node["name"]), str(node.get("namespace", namespace)))] = node, namespace
                inside = _namespace(node, namespace)
            for field in node.get("fields", ()):
                self.note(field["type"], inside)
            for key in ("type", "items", "values"):
                self.note(node.get(key), inside)

    def member(self, field: Mapping[str, Any], type_: Type) -> Member:
        """Return the field of a record, whose type is known. Raises `NoColumnError`."""
        name, required = str(field["name"]), self._required(field["type"])
        if not self._as_reader:
            return Member(name, type_, required)
        default = field.get("default")
        if default is not None and not fits(default, type_, required=required):
            raise NoColumnError(f"the default of {name} does not fit its type")
        aliases = tuple(map(str, field.get("aliases", ())))
        return Member(name, type_, required, None if default is None else json.dumps(default), aliases)

    def _required(self, node: Any) -> bool:
        return self._as_reader and node != "null" and not (isinstance(node, list) and "null" in node)

    def type(self, node: Any, namespace: str, depth: int, above: tuple[str, ...]) -> Type:  # noqa: PLR0911
        """Return the type of a column. Raises `NoColumnError`."""
        self.walk.add(depth)
        if node == "null" or isinstance(node, list):
            branches = node if isinstance(node, list) else [node]
            return self._union([one for one in branches if one != "null"], namespace, depth, above)
        if isinstance(node, str):
            return _PLAIN[node] if node in _PLAIN else self._by_name(node, namespace, depth, above)
        kind = node["type"]
        if kind in ("record", "error"):
            return self._record(node, namespace, depth, above)
        if kind == "array":
            item = self.walk.inside("[]", lambda: self.type(node["items"], namespace, depth + 1, above))
            return ListOf(item, self._required(node["items"]))
        if kind == "map":
            value = self.walk.inside("{}", lambda: self.type(node["values"], namespace, depth + 1, above))
            return MapOf(value, self._required(node["values"]))
        if kind in _PLAIN:
            return self._noted(node, _logical(node) or _PLAIN[kind])
        return self.type(kind, namespace, depth, above)

    def _union(self, branches: list[Any], namespace: str, depth: int, above: tuple[str, ...]) -> Type:
        if len(branches) == 1:
            return self.type(branches[0], namespace, depth, above)
        if not branches:
            raise NoColumnError("it is always null")
        if all(one in ("int", "long") for one in branches):
            return Plain("int64")
        if all(one in _NUMBERS for one in branches):
            if "long" in branches:
                self.walk.note(f"a long that no float64 is exactly (from 9007199254740993 on) {REFUSED}")
            return Plain("float64")
        raise NoColumnError("it is one of several types")

    def _by_name(self, name: str, namespace: str, depth: int, above: tuple[str, ...]) -> Type:
        full = _full(name, namespace)
        found = self._named.get(full) or self._named.get(name)
        if found is None:
            raise NoColumnError(f"its type {name} is not known")
        node, around = found
        return self.type(node, around, depth, above)

    def _record(self, node: Mapping[str, Any], namespace: str, depth: int, above: tuple[str, ...]) -> Type:
        full = _full(str(node["name"]), str(node.get("namespace", namespace)))
        if full in above:
            raise NoColumnError(f"{full} has itself in it")
        inside = _namespace(node, namespace)

        def make(field: Any) -> Member:
            return self.member(field, self.type(field["type"], inside, depth + 1, (*above, full)))

        return self.walk.struct((str(one["name"]), partial(make, one)) for one in node["fields"])

    def _noted(self, node: Mapping[str, Any], type_: Type) -> Type:
        """Return a type, and note what of its logical type it cannot hold."""
        logical = str(node.get("logicalType", ""))
        if type_ == Plain("date") or (isinstance(type_, Timestamp) and type_.unit != "ns"):
            self.walk.note(f"a {logical} before the year 1 or after 9999, such as infinity, {REFUSED}")
        if logical.startswith("local-") and isinstance(type_, Timestamp):
            self.walk.note(f"a {logical} has no zone, and is taken as UTC")
        if logical in ("decimal", "big-decimal") and type_ == Binary():
            self.walk.note(f"its digits are bytes: no column has a {logical} of more than {MOST_DIGITS} digits")
        return type_


def _logical(node: Mapping[str, Any]) -> Type | None:
    kind, name = node["type"], str(node.get("logicalType", ""))
    if (kind, name) in _LOGICAL:
        return _LOGICAL[kind, name]
    unit = name.removeprefix("local-").removeprefix("timestamp-")
    if kind == "long" and "timestamp-" in name and unit in _UNITS:
        return Timestamp(_UNITS[unit])
    if kind == "fixed" and name == "uuid" and node.get("size") == 16:
        return Plain("string")
    if kind in ("bytes", "fixed") and name == "decimal":
        precision, scale = node.get("precision", 0), node.get("scale", 0)
        return Decimal(precision, scale) if 0 <= scale <= precision <= MOST_DIGITS and precision else None
    return None


_BITS: Final = {"int32": 32, "int64": 64, "date": 32}


def fits(default: Any, type_: Type, *, required: bool) -> bool:  # noqa: PLR0911  (one for each type)
    """Return whether a default, as JSON has it, is one by Avro's specification (1.12)."""
    if default is None:
        return not required
    match type_:
        case Plain("bool"):
            return isinstance(default, bool)
        case Plain("string"):
            return isinstance(default, str)
        case Plain("float32" | "float64"):
            return isinstance(default, float) or _is_whole(default, 64)
        case Plain(name):
            return name in _BITS and _is_whole(default, _BITS[name])
        case Time() | Timestamp():
            return _is_whole(default, 64)
        case Binary():
            return _is_bytes(default)
        case Decimal(precision, _):
            number = int.from_bytes(default.encode("latin-1"), "big", signed=True) if _is_bytes(default) else None
            return number is not None and abs(number) < 10**precision
        case Struct(members):
            return isinstance(default, dict) and all(
                fits(default[one.name], one.type, required=one.required)
                if one.name in default
                else one.default is not None or not one.required
                for one in members
            )
        case ListOf(item, inner):
            return isinstance(default, list) and all(fits(one, item, required=inner) for one in default)
        case MapOf(item, inner):
            return isinstance(default, dict) and all(fits(one, item, required=inner) for one in default.values())


def _is_whole(default: Any, bits: int) -> bool:
    whole = isinstance(default, int) and not isinstance(default, bool)
    return whole and -(2 ** (bits - 1)) <= default < 2 ** (bits - 1)


def _is_bytes(default: Any) -> bool:
    return isinstance(default, str) and all(ord(one) < 256 for one in default)
