"""Rows of Thrift values made once more, value by value in plain Python; no code of the native parser is in it.

docs/schemas.md says what becomes what. Dates, times and timestamps are integers, as in `verify.rows`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal as Number
from functools import cached_property
from typing import Any, Final

from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.notation import epoch_unit
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.thrift.schema import Field, Kind, Schema, read_schema
from logpersister.manifest.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Time, Timestamp, Type
from tests.judges.faults import Faults
from tests.judges.growth import Budget, width
from tests.judges.json_values import Reading, column_value, instant_in_range
from tests.judges.refusal import RefusalError
from tests.judges.rows import Oracle, Row
from tests.judges.thrift_input import Node, tree_of

_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_WIRES: Final = {"string": "sized", "binary": "sized", "enum": "i32"}
_LONGEST_SMALL_NUMBER, _LONGEST_NUMBER = 11, 20


@dataclass(frozen=True)
class ThriftOracle(Oracle):
    """A parser, as `records.parsers` has them, for verification."""

    schema: SchemaSpec
    protocol: str
    faults: FaultsSpec = REFUSED

    def row(self, value: bytes) -> Row:
        tree = tree_of(value, self.protocol)
        conversion = _Conversion(self._thrift, Budget(len(value)), Faults(self.faults))
        return conversion.struct(tree, self._struct, self.schema.columns, self._readings)

    @cached_property
    def _thrift(self) -> Schema:
        return read_schema(self.schema.thrift.idl if self.schema.thrift is not None else "")

    @cached_property
    def _struct(self) -> str:
        return self._thrift.struct(self.schema.thrift.struct if self.schema.thrift is not None else None)

    @cached_property
    def _readings(self) -> Mapping[str, Reading]:
        return {one.name: Reading(one.format or "rfc3339") for one in self.schema.columns}


class _Conversion:
    """One value on its way into columns."""

    def __init__(self, schema: Schema, budget: Budget, faults: Faults) -> None:
        self._schema = schema
        self._budget = budget
        self._faults = faults

    def struct(
        self, node: Node, name: str, members: Iterable[Member], readings: Mapping[str, Reading] | Reading
    ) -> dict[str, Any]:
        fields = self._schema.fields(name)
        known = {fields[one.name].number: one for one in members}
        found: dict[str, Any] = {}
        for number, value in node.content:
            if (member := known.get(number)) is None:
                continue
            if member.name in found:
                raise RefusalError("duplicate", member.name)
            reading = readings if isinstance(readings, Reading) else readings[member.name]
            kind, required = fields[member.name].kind, member.required
            found[member.name] = self._item(value, kind, member.type, reading, member.name, required=required)
        for member in known.values():
            if member.name not in found:
                reading = readings if isinstance(readings, Reading) else readings[member.name]
                found[member.name] = self._absent(fields[member.name], member, reading)
        return {member.name: found[member.name] for member in known.values()}

    def _absent(self, field: Field, member: Member, reading: Reading) -> Any:
        """Return what stands where a field is not."""
        default = None if field.requirement == "required" else field.default
        if default is None:
            if member.required:
                raise RefusalError("missing", member.name)
            return None
        if isinstance(default, list | dict):
            return []
        content = default.encode() if isinstance(default, str) else default
        node = Node(_WIRES.get(field.kind.word, field.kind.word), content)
        return self._item(node, field.kind, member.type, reading, member.name)

    def _item(self, node: Node, kind: Kind, type_: Type, reading: Reading, step: str, *, required: bool = True) -> Any:
        try:
            return self._value(node, kind, type_, reading, required=required)
        except RefusalError as error:
            raise error.below(step) from None

    def _value(self, node: Node, kind: Kind, type_: Type, reading: Reading, *, required: bool) -> Any:
        if node.kind != _WIRES.get(kind.word, kind.word):
            raise RefusalError("wrong_type")
        match type_:
            case Struct(members):
                return self.struct(node, kind.of, members, reading)
            case ListOf(item, items_required):
                found = []
                for one in node.content:
                    _expect(one, kind.inner[0], "[]")
                    self._budget.take(width(item) + self._added(kind.inner[0], item), "[]")
                    found.append(self._item(one, kind.inner[0], item, reading, "[]", required=items_required))
                return found
            case MapOf(value, values_required):
                return self._entries(node, kind, value, reading, required=values_required)
        return self._faults.or_null(self._scalar, node, kind, type_, reading, required=required)

    def _entries(
        self, node: Node, kind: Kind, type_: Type, reading: Reading, *, required: bool
    ) -> list[tuple[str, Any]]:
        key_kind, value_kind = kind.inner
        growth = width(type_) + self._added(value_kind, type_) + self._added_as_key(key_kind)
        found: list[tuple[str, Any]] = []
        for key, value in node.content:
            _expect(key, key_kind, "{}")
            _expect(value, value_kind, "{}")
            self._budget.take(growth, "{}")
            name = self._item(key, key_kind, Plain("string"), reading, "{}")
            found.append((name, self._item(value, value_kind, type_, reading, "{}", required=required)))
        if len(dict(found)) < len(found):
            raise RefusalError("duplicate", "{}")
        return found

    def _added(self, kind: Kind, type_: Type) -> int:
        """Return the bytes that a value can take in its column beyond its own."""
        if kind.word == "enum":
            names = self._schema.enums[kind.of].values()
            return max([_LONGEST_SMALL_NUMBER, *(len(name) for name in names)])
        if not isinstance(type_, Struct):
            return 0
        fields = self._schema.fields(kind.of)
        return sum(self._added_by(fields[one.name], one.type) for one in type_.members)

    def _added_by(self, field: Field, type_: Type) -> int:
        default = field.default
        if field.kind.word == "enum" and type_ == Plain("string") and default is not None:
            default = self._schema.enums[field.kind.of][default]
        text = default if isinstance(default, str) and field.requirement != "required" else ""
        return self._added(field.kind, type_) + len(text.encode())

    def _added_as_key(self, kind: Kind) -> int:
        if kind.word == "enum":
            return self._added(kind, Plain("string"))
        return 0 if kind.word in ("string", "binary") else _LONGEST_NUMBER

    def _scalar(self, node: Node, kind: Kind, type_: Type, reading: Reading) -> Any:  # noqa: PLR0911 - one for each
        content = node.content
        match type_:
            case Plain("string") if kind.word == "enum":
                return self._schema.enums[kind.of].get(content, str(content))
            case Plain("string"):
                return _text(node)
            case Plain("bool"):
                return content
            case Plain("int8" | "int16" | "int32" | "int64" as name):
                return _narrow(content, _BITS[name])
            case Plain("float64"):
                return float(content)
            case Binary():
                return content
            case Decimal(precision, scale) if node.kind != "sized":
                if abs(content) * 10**scale >= 10**precision:
                    raise RefusalError("overflow")
                return Number(content)
            case Timestamp(unit) if (source := epoch_unit(reading.format)) is not None:
                per_second = _PER_SECOND[source]
                instant_in_range(content // per_second)
                return _narrow(content * _PER_SECOND[unit] // per_second, 64)
            case Plain("date") | Time() | Decimal() | Timestamp():
                return column_value(_text(node), type_, reading)
        raise RefusalError("wrong_type")


def _expect(node: Node, kind: Kind, step: str) -> None:
    """Check how an item is encoded before anything else: the head of its list says it."""
    if node.kind != _WIRES.get(kind.word, kind.word):
        raise RefusalError("wrong_type", step)


def _text(node: Node) -> str:
    """Return the text of a string, or of a key that is a number or a bool."""
    if node.kind == "bool":
        return "true" if node.content else "false"
    if node.kind != "sized":
        return str(node.content)
    try:
        found: str = node.content.decode()
    except UnicodeDecodeError:
        raise RefusalError("not_utf8") from None
    return found


def _narrow(number: int, bits: int) -> int:
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise RefusalError("overflow")
    return number
