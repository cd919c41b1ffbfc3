"""Rows of MessagePack values made once more, value by value in plain Python; no code of the native parser is in it.

docs/schemas.md says what becomes what. Dates, times and timestamps are integers, as in `verify.rows`.
"""

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal as Number
from functools import cached_property
from typing import Any, Final

import numpy as np

from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Time, Timestamp, Type
from logpersister.verify.growth import Budget, width
from logpersister.verify.messagepack_input import Node, tree_of
from logpersister.verify.refusal import RefusalError
from logpersister.verify.rows import Oracle, Reading, Row, column_value, instant_in_range

_TIMESTAMP: Final = -1
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class MessagePackOracle(Oracle):
    """A parser, as `records.parsers` has them, for verification."""

    schema: SchemaSpec
    unknown_fields: str

    def row(self, value: bytes) -> Row:
        tree = tree_of(value)
        if tree.kind != "map":
            raise RefusalError("not_an_object")
        conversion = _Conversion(Budget(len(value)), self.unknown_fields == "refuse")
        return conversion.members(tree, self.schema.columns, self._readings.__getitem__)

    @cached_property
    def _readings(self) -> Mapping[str, Reading]:
        return {one.name: Reading(one.format or "rfc3339") for one in self.schema.columns}


class _Conversion:
    """One value on its way into columns."""

    def __init__(self, budget: Budget, refuse_unknown: bool) -> None:  # noqa: FBT001 - one caller
        self._budget = budget
        self._refuse_unknown = refuse_unknown

    def members(self, node: Node, members: tuple[Member, ...], reading: Callable[[str], Reading]) -> dict[str, Any]:
        known = {one.name.encode(): one for one in members}
        found: dict[str, Any] = {}
        for key, value in node.content:
            member = known.get(key.content) if key.kind == "text" else None
            if member is None:
                if self._refuse_unknown:
                    raise RefusalError("unknown_field")
                continue
            if member.name in found:
                raise RefusalError("duplicate", member.name)
            found[member.name] = self._item(value, member.type, reading(member.name), member.name, member.required)
        for member in members:
            if member.name not in found:
                if member.required:
                    raise RefusalError("missing", member.name)
                found[member.name] = None
        return found

    def _item(self, node: Node, type_: Type, reading: Reading, step: str, required: bool) -> Any:  # noqa: FBT001
        if node.kind == "nil":
            if required:
                raise RefusalError("missing", step)
            return None
        try:
            return self._value(node, type_, reading)
        except RefusalError as error:
            raise error.below(step) from None

    def _value(self, node: Node, type_: Type, reading: Reading) -> Any:
        match type_:
            case Struct(members) if node.kind == "map":
                return self.members(node, members, lambda _: reading)
            case ListOf(item, required) if node.kind == "array":
                found = []
                for one in node.content:
                    self._budget.take(width(item), "[]")
                    found.append(self._item(one, item, reading, "[]", required))
                return found
            case MapOf(value, required) if node.kind == "map":
                return self._entries(node, value, reading, required=required)
        return _scalar(node, type_, reading)

    def _entries(self, node: Node, type_: Type, reading: Reading, *, required: bool) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for key, value in node.content:
            if key.kind != "text":
                raise RefusalError("wrong_type", "{}")
            try:
                name = _text(key)
            except RefusalError as error:
                raise error.below("{}") from None
            self._budget.take(width(type_), "{}")
            found.append((name, self._item(value, type_, reading, "{}", required)))
        if len(dict(found)) < len(found):
            raise RefusalError("duplicate", "{}")
        return found


def _scalar(node: Node, type_: Type, reading: Reading) -> Any:  # noqa: PLR0911  (one for each type)
    match type_:
        case Plain("bool") if node.kind == "bool":
            return node.content
        case Plain("int8" | "int16" | "int32" | "int64" as name):
            return _integer(node, _BITS[name])
        case Plain("float32" | "float64" as name):
            return _real(node, name)
        case Plain("string") if node.kind in ("text", "bytes"):
            return _text(node)
        case Binary() if node.kind in ("text", "bytes"):
            return node.content
        case Timestamp(unit):
            return _timestamp(node, unit, reading)
        case Decimal(precision, scale) if node.kind == "integer":
            if abs(node.content) * 10**scale >= 10**precision:
                raise RefusalError("overflow")
            return Number(node.content)
        case Plain("date") | Time() | Decimal() if node.kind == "text":
            return _read(node, type_, reading)
    raise RefusalError("wrong_type")


def _text(node: Node) -> str:
    try:
        found: str = node.content.decode()
    except UnicodeDecodeError:
        raise RefusalError("not_utf8") from None
    return found


def _read(node: Node, type_: Type, reading: Reading) -> Any:
    """Return what a text becomes that has to be a date or the like; what is no UTF-8 is none."""
    return column_value(node.content.decode(errors="replace"), type_, reading)


def _integer(node: Node, bits: int) -> int:
    if node.kind != "integer":
        raise RefusalError("wrong_type")
    number: int = node.content
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise RefusalError("overflow")
    return number


def _real(node: Node, name: str) -> float:
    if node.kind == "integer":
        number = np.uint64(node.content) if node.content >= 0 else np.int64(node.content)
        return float(number.astype(name))
    if node.kind not in ("single", "double"):
        raise RefusalError("wrong_type")
    real: float = node.content
    if name == "float64" or not math.isfinite(real):
        return real
    try:
        (single,) = struct.unpack("<f", struct.pack("<f", real))
    except OverflowError:
        raise RefusalError("overflow") from None
    return float(single)


def _timestamp(node: Node, unit: str, reading: Reading) -> int:
    if node.kind == "extension" and node.content[0] == _TIMESTAMP:
        seconds, nanoseconds = _instant(node.content[1])
        instant_in_range(seconds)
        if nanoseconds >= 10**9:
            raise RefusalError("overflow")
        return _fitting(seconds * _PER_SECOND[unit] + nanoseconds * _PER_SECOND[unit] // 10**9)
    if reading.format == "rfc3339":
        if node.kind != "text":
            raise RefusalError("wrong_type")
        found: int = _read(node, Timestamp(unit), reading)  # type: ignore[arg-type]
        return found
    per_second = _PER_SECOND[reading.format[6:-1]]
    number = _integer(node, 64)
    instant_in_range(number // per_second)
    return _fitting(number * _PER_SECOND[unit] // per_second)


def _instant(data: bytes) -> tuple[int, int]:
    """Return seconds since 1970 and nanoseconds."""
    match len(data):
        case 4:
            return int.from_bytes(data, "big"), 0
        case 8:
            both = int.from_bytes(data, "big")
            return both % 2**34, both >> 34
        case 12:
            return int.from_bytes(data[4:], "big", signed=True), int.from_bytes(data[:4], "big")
    raise RefusalError("wrong_type")


def _fitting(number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise RefusalError("overflow")
    return number
