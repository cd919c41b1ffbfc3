"""Rows of MessagePack values made once more, value by value in plain Python; no code of the native parser is in it.

docs/schemas.md says what becomes what. Dates, times and timestamps are integers, as in `verify.rows`.
"""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from functools import cached_property
from typing import Any, Final

from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.notation import epoch_unit
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Time, Timestamp, Type
from tests.judges.faults import Faults, is_plain_scalar, unique
from tests.judges.growth import Budget, width
from tests.judges.json_text import tree_of as json_tree
from tests.judges.json_values import Reading, column_value, exact_real, instant_in_range, plain_value
from tests.judges.messagepack_input import Node, tree_of
from tests.judges.messagepack_json import instant_of, key_text, quoted, value_text
from tests.judges.refusal import RefusalError
from tests.judges.rest import joined
from tests.judges.rows import Oracle, Row
from tests.judges.text_values import text_value

_TIMESTAMP: Final = -1
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class MessagePackOracle(Oracle):
    """A parser, as `records.parsers` has them, for verification."""

    schema: SchemaSpec
    unknown_fields: str
    faults: FaultsSpec = REFUSED

    def row(self, value: bytes) -> Row:
        tree = tree_of(value)
        if tree.kind != "map":
            raise RefusalError("not_an_object")
        rest = self.schema.rest
        members = tuple(one for one in self.schema.columns if one != rest)
        conversion = _Conversion(Budget(len(value)), Faults(self.faults), self.unknown_fields)
        row = conversion.members(tree, members, self._readings.__getitem__, is_row=True)
        return row if rest is None else {**row, rest.name: conversion.rest}

    @cached_property
    def _readings(self) -> Mapping[str, Reading]:
        return {one.name: Reading(one.format or "rfc3339") for one in self.schema.columns}


class _Conversion:
    """One value on its way into columns."""

    def __init__(self, budget: Budget, faults: Faults, unknown_fields: str) -> None:
        self._budget = budget
        self._faults = faults
        self._unknown = unknown_fields
        self.rest: str | None = None
        """What the row does not name, if that is kept."""

    def members(
        self,
        node: Node,
        members: tuple[Member, ...],
        reading: Callable[[str], Reading],
        *,
        is_row: bool = False,
    ) -> dict[str, Any]:
        known = {one.name.encode(): one for one in members}
        found: dict[str, Any] = {}
        others: list[str] = []
        for key, value in self._unique(node, known):
            member = _named(key, known)
            if member is None:
                if self._unknown == "refuse":
                    raise RefusalError("unknown_field")
                if self._unknown == "keep":
                    others.append(key_text(key))
                continue
            if member.name in found:
                raise RefusalError("duplicate", member.name)
            found[member.name] = self._item(value, member.type, reading(member.name), member.name, member.required)
        if len(set(others)) < len(others):
            raise RefusalError("duplicate")
        if is_row and self._unknown == "keep":
            self.rest = self._rest_of(node, Struct(members))
            self._budget.take_rest(self.rest)
        for member in members:
            if member.name in found:
                continue
            if is_row and member.default is not None:
                found[member.name] = plain_value(json_tree(member.default), member.type, reading(member.name))
            elif member.required:
                raise RefusalError("missing", member.name)
            else:
                found[member.name] = None
        return {member.name: found[member.name] for member in members}

    def _unique(self, node: Node, known: Mapping[bytes, Member]) -> Sequence[tuple[Node, Node]]:
        """Return the members of a struct that count."""
        others = key_text if self._unknown == "keep" else lambda _: None
        names = [_named(key, known) or others(key) for key, _ in node.content]
        return unique(node.content, names, self._faults.duplicates)

    def _item(self, node: Node, type_: Type, reading: Reading, step: str, required: bool) -> Any:
        return self._faults.inside(
            step,
            lambda: self._value(node, type_, reading),
            lambda: _converted(node, type_, reading),
            is_null=node.kind == "nil",
            required=required,
        )

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
            case Plain("string") if node.kind in ("text", "bytes"):
                return self._text(node)
        return _scalar(node, type_, reading)

    def _entries(self, node: Node, type_: Type, reading: Reading, *, required: bool) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for key, value in self._unique_keys(node):
            if key.kind != "text":
                raise RefusalError("wrong_type", "{}")
            try:
                name = self._text(key)
            except RefusalError as error:
                raise error.below("{}") from None
            self._budget.take(width(type_), "{}")
            found.append((name, self._item(value, type_, reading, "{}", required)))
        if len(dict(found)) < len(found):
            raise RefusalError("duplicate", "{}")
        return found

    def _unique_keys(self, node: Node) -> Sequence[tuple[Node, Node]]:
        """Return the entries of a map that count."""
        errors = "replace" if self._faults.replaces_invalid else "surrogateescape"
        names = [key.content.decode(errors=errors) if key.kind == "text" else None for key, _ in node.content]
        return unique(node.content, names, self._faults.duplicates)

    def _text(self, node: Node) -> str:
        try:
            found: str = node.content.decode(errors="replace" if self._faults.replaces_invalid else "strict")
        except UnicodeDecodeError:
            raise RefusalError("not_utf8") from None
        return found

    def _rest_of(self, node: Node, type_: Type) -> str | None:
        """Return what is in a value that its type does not name, as a JSON object; None: nothing is."""
        match type_:
            case Struct(members) if node.kind == "map":
                known = {one.name.encode(): one for one in members}
                found = ((key, value, _named(key, known)) for key, value in self._unique(node, known))
                return joined(
                    (key_text(key), value_text(value) if member is None else self._rest_of(value, member.type))
                    for key, value, member in found
                )
            case ListOf(item) if node.kind == "array":
                items = (self._rest_of(one, item) for one in node.content)
                return joined((f'"{index}"', inside) for index, inside in enumerate(items))
            case MapOf(value) if node.kind == "map":
                entries = self._unique_keys(node)
                return joined((quoted(self._text(key)), self._rest_of(one, value)) for key, one in entries)
        return None


def _named(key: Node, known: Mapping[bytes, Member]) -> Member | None:
    return known.get(key.content) if key.kind == "text" else None


def _converted(node: Node, type_: Type, reading: Reading) -> Any:
    """Return what a value of another kind becomes. Raises `RefusalError`."""
    if node.kind == "text" and is_plain_scalar(type_):
        return text_value(node.content.decode(errors="replace"), type_, reading)
    if type_ == Plain("string") and node.kind in ("bool", "integer", "single", "double"):
        return value_text(node).strip('"')
    raise RefusalError("wrong_type")


def _scalar(node: Node, type_: Type, reading: Reading) -> Any:  # noqa: PLR0911  (one for each type)
    match type_:
        case Plain("bool") if node.kind == "bool":
            return node.content
        case Plain("int8" | "int16" | "int32" | "int64" as name):
            return _integer(node, _BITS[name])
        case Plain("float32" | "float64" as name):
            return _real(node, name)
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
        return exact_real(node.content, name)
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
        seconds, nanoseconds = instant_of(node.content[1])
        instant_in_range(seconds)
        if nanoseconds >= 10**9:
            raise RefusalError("overflow")
        return _fitting(seconds * _PER_SECOND[unit] + nanoseconds * _PER_SECOND[unit] // 10**9)
    source = epoch_unit(reading.format)
    if source is None:
        if node.kind != "text":
            raise RefusalError("wrong_type")
        found: int = _read(node, Timestamp(unit), reading)  # type: ignore[arg-type]
        return found
    per_second = _PER_SECOND[source]
    number = _integer(node, 64)
    instant_in_range(number // per_second)
    return _fitting(number * _PER_SECOND[unit] // per_second)


def _fitting(number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise RefusalError("overflow")
    return number
