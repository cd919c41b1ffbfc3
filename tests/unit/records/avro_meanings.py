"""What values that fastavro has read mean, and which columns a writer's schema fits, by docs/schemas.md."""

import uuid
from collections.abc import Mapping
from decimal import Decimal as Number
from typing import Any, Final

import numpy as np

from logpersister.schemas.types import Decimal, ListOf, MapOf, Plain, Struct, Time, Timestamp, Type
from tests.unit.records.third_party import Clock, Day, Instant, Pairs

Json = Any

_NANOSECONDS: Final = {"millis": 10**6, "micros": 10**3, "nanos": 1}
_INTEGERS: Final = {"int8", "int16", "int32", "int64", "float32", "float64"}
_COLUMNS: Final[Mapping[str, set[str]]] = {
    "boolean": {"bool"},
    "int": _INTEGERS,
    "long": {"int64", "float32", "float64"},
    "float": {"float32", "float64"},
    "double": {"float64"},
    "string": {"string", "binary[base64]", "date", "time", "decimal"},
    "bytes": {"string", "binary[base64]", "decimal"},
    "fixed": {"binary[base64]", "decimal"},
    "enum": {"string"},
}
"""By type of the writer: the columns that its values can become whatever they mean."""


def fits(node: Json, type_: Type, notations: Mapping[str, str | None] | str | None) -> bool:
    """Whether a writer's schema can become a column; of a row, `notations` are those of its fields."""
    if isinstance(node, list):
        return fits(_present(node), type_, notations)
    kind = node["type"] if isinstance(node, dict) else node
    match type_:
        case Struct(members):
            written = {one["name"]: one["type"] for one in node["fields"]} if kind == "record" else {}
            return kind == "record" and all(
                fits(written[one.name], one.type, notations[one.name] if isinstance(notations, dict) else notations)
                if one.name in written
                else not one.required
                for one in members
            )
        case ListOf(item):
            return kind == "array" and fits(node["items"], item, notations)
        case MapOf(of):
            return kind == "map" and fits(node["values"], of, notations)
        case _:
            assert notations is None or isinstance(notations, str)
            return _fits_scalar(node if isinstance(node, dict) else {"type": node}, type_, notations or "rfc3339")


def _fits_scalar(node: Json, type_: Type, notation: str) -> bool:  # noqa: PLR0911 - one for each type
    kind, logical = node["type"], node.get("logicalType")
    whole = {"int": "ms", "long": "us"}.get(kind)
    match type_:
        case Plain("date") if kind == "int":
            return logical in (None, "date")
        case Time(unit) if whole is not None:
            return str(logical).startswith("time-") or (logical is None and unit == whole)
        case Timestamp() if whole is not None:
            return "timestamp-" in str(logical) or (logical is None and notation != "rfc3339")
        case Timestamp():
            return bool(kind == "string" and notation == "rfc3339")
        case Decimal(precision, scale) if kind != "string":
            return kind in ("bytes", "fixed") and 0 <= scale - node.get("scale", scale) <= precision
        case Plain("string") if kind in ("bytes", "fixed"):
            return (kind, logical) in (("bytes", None), ("fixed", "uuid"))
        case _:
            return str(type_).partition("(")[0].removesuffix("[ms]").removesuffix("[us]") in _COLUMNS.get(kind, ())


def meant(value: Any, node: Json, type_: Type | None) -> Any:  # noqa: PLR0911 - one for each type
    """Return what a value says that was read without logical types; `type_` is that of its column, if it has one."""
    if isinstance(node, list):
        return None if value is None else meant(value, _present(node), type_)
    if value is None:
        return None
    kind = node["type"] if isinstance(node, dict) else node
    match kind:
        case "record":
            columns = {one.name: one.type for one in type_.members} if isinstance(type_, Struct) else {}
            return Pairs(
                # fastavro gives the default of a record as it stands there, without those of fields in it
                (one["name"], meant(value.get(one["name"], one.get("default")), one["type"], columns.get(one["name"])))
                for one in node["fields"]
            )
        case "array":
            item = type_.item if isinstance(type_, ListOf) else None
            return [meant(one, node["items"], item) for one in value]
        case "map":
            of = type_.value if isinstance(type_, MapOf) else None
            return Pairs((key, meant(one, node["values"], of)) for key, one in value.items())
        case "float":
            with np.errstate(over="ignore"):
                return float(np.float32(value))
        case "bytes" | "fixed":
            content = value.encode("latin-1") if isinstance(value, str) else value  # a default is text
            return _of_bytes(content, node if isinstance(node, dict) else {}, type_)
        case "int" | "long":
            return _of_whole(value, node if isinstance(node, dict) else {"type": node}, type_)
        case _:
            return value


def _of_bytes(content: bytes, node: Json, type_: Type | None) -> Any:
    if isinstance(type_, Decimal):
        number = int.from_bytes(content, "big", signed=True)
        return Number(number).scaleb(-node.get("scale", type_.scale))
    return str(uuid.UUID(bytes=content)) if node.get("logicalType") == "uuid" and type_ == Plain("string") else content


def _of_whole(number: int, node: Json, type_: Type | None) -> Any:
    logical = str(node.get("logicalType"))
    what, _, unit = logical.removeprefix("local-").rpartition("-")
    match type_:
        case Plain("date"):
            return Day(number)
        case Time():
            return Clock(number * (_NANOSECONDS[unit] if what else {"int": 10**6, "long": 10**3}[node["type"]]))
        case Timestamp() if what == "timestamp":
            return Instant(number * _NANOSECONDS[unit])
        case _:
            return number


def fullest(node: Json) -> Any:  # noqa: PLR0911 - one for each type
    """Return a value that has something of all that a schema has."""
    if isinstance(node, list):
        return fullest(_present(node))
    match node["type"] if isinstance(node, dict) else node:
        case "record":
            return {one["name"]: fullest(one["type"]) for one in node["fields"]}
        case "array":
            return [fullest(node["items"])]
        case "map":
            return {"": fullest(node["values"])}
        case "enum":
            return node["symbols"][0]
        case "fixed":
            return bytes(node["size"])
        case kind:
            return {"boolean": False, "string": "", "bytes": b"\0", "float": 0.0, "double": 0.0}.get(kind, 0)


def _present(union: Json) -> Json:
    """Return the type of a nullable one that is not null."""
    (found,) = [one for one in union if one != "null"]
    return found
