"""One protobuf message of a writer as a row: which of its fields count, and what stands in columns without one."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal as Number
from functools import partial
from typing import Any

from logpersister.manifest.protobuf.schema import Field, Schema
from logpersister.manifest.protobuf.well_known import JSON, TIMESTAMP, WRAPPED
from logpersister.manifest.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Timestamp, Type
from tests.judges.avro_defaults import GROWTH_OF_A_CHARACTER, MisfitError
from tests.judges.faults import Faults
from tests.judges.growth import Budget, width
from tests.judges.json_values import Reading
from tests.judges.protobuf_input import GROUP, SIZED, Cursor, Part, parts_of
from tests.judges.protobuf_values import (
    Value,
    document,
    enumerated,
    instant,
    is_known,
    key_text,
    last_value,
    scalar,
    wire_of,
    zero,
)
from tests.judges.refusal import RefusalError

_ReadingOf = Callable[[str], Reading]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column with a field of the writer."""

    member: Member
    field: Field
    value: Value
    key: Field | None = None
    """Of a map."""
    inner: Field | None = None
    growth: int = 0
    """Of an item."""


class Message:
    """One message of a writer, resolved against columns."""

    def __init__(
        self, schema: Schema, name: str, members: tuple[Member, ...], reading_of: _ReadingOf, faults: Faults
    ) -> None:
        """Resolve it. Raises `MisfitError`."""
        self._schema = schema
        self._faults = faults
        self._fields = {one.number: one for one in schema.messages[name]}
        by_name = {one.name: one for one in self._fields.values()}
        self._members = members
        self._columns: dict[int, _Column] = {}
        self._defaults: dict[str, Any] = {}
        self.added = 0
        for member in members:
            field = by_name.get(member.name)
            if field is None:
                self._defaults[member.name] = _default(member)
                self.added += GROWTH_OF_A_CHARACTER * len(member.default or "")
                continue
            column = self._columns[field.number] = self._column(member, field, reading_of(member.name))
            self.added += 0 if field.repeated else column.value.added

    def read(self, data: bytes, budget: Budget) -> dict[str, Any]:
        """Return the row of a message. Raises `RefusalError`."""
        row: dict[str, Any] = {}
        for part in self._counting(data):
            column = self._columns.get(part.number)
            if column is None:
                continue
            try:
                self._take(column, part, row, budget)
            except RefusalError as error:
                raise error.below(column.member.name) from None
        by_name = {one.member.name: one for one in self._columns.values()}
        return {one.name: self._ended(one, by_name.get(one.name), row, budget) for one in self._members}

    def _take(self, column: _Column, part: Part, row: dict[str, Any], budget: Budget) -> None:
        name = column.member.name
        if column.key is not None:
            row.setdefault(name, []).append(_inside("{}", lambda: self._entry(column, part.data, budget)))
        elif not column.field.repeated:
            row[name] = column.value.read(part, budget)
        else:
            found = row.setdefault(name, [])
            found += _inside("[]", lambda: [_grown(column, one, budget) for one in self._items(column.field, part)])

    def _ended(self, member: Member, column: _Column | None, row: Mapping[str, Any], budget: Budget) -> Any:
        """Return what stands in a column in the end."""
        if member.name in row:
            return row[member.name]
        found: Any = None
        if column is None:
            found = self._defaults[member.name]
        elif column.field.repeated:
            found = []
        elif column.field.presence == "implicit" and not _is_other_text(column.field, member.type):
            found = _inside(member.name, lambda: column.value.read(zero(column.field), budget))
        if found is None and member.required:
            raise RefusalError("missing", member.name)
        return found

    # what counts of a message

    def _counting(self, data: bytes) -> list[Part]:
        """Return the fields that count, in the order in which they came last; pieces of one message are one."""
        found: dict[Any, Part] = {}
        oneofs: dict[int, int] = {}
        for place, part in enumerate(list(parts_of(data))):
            field = self._fields.get(part.number)
            if field is None or not self._is_of(field, part):
                continue
            if field.oneof is not None:
                before = oneofs.get(field.oneof)
                if before not in (None, field.number):
                    found.pop(before, None)
                oneofs[field.oneof] = field.number
            key = self._key(field, part, place)
            if key is None:
                continue
            earlier = found.pop(key, None)
            if earlier is not None and not field.repeated and field.kind in ("message", "group"):
                found[key] = Part(part.number, part.wire, data=earlier.data + part.data)
            else:
                found[key] = part
        return list(found.values())

    def _key(self, field: Field, part: Part, place: int) -> Any:
        """Return by what a field is replaced by a later one; None: it does not count."""
        if not field.repeated:
            return field.number
        if field.of in self._schema.entries:
            key, value = self._schema.messages[field.of]
            try:
                inside = {
                    one.number: one
                    for one in parts_of(part.data)
                    if one.wire == wire_of(key if one.number == 1 else value)
                }
                if 2 in inside and not is_known(value, inside[2], self._schema):
                    return None
                return field.number, key_text(key, inside.get(1, zero(key)))
            except RefusalError:
                pass  # told when it is read
        return field.number, "", place

    def _is_of(self, field: Field, part: Part) -> bool:
        """Return whether a part is a value of a field; else it counts as unknown."""
        if part.wire == SIZED and field.repeated and wire_of(field) not in (SIZED, GROUP):
            return True
        return part.wire == wire_of(field) and (field.repeated or is_known(field, part, self._schema))

    def _items(self, field: Field, part: Part) -> Iterator[Part]:
        wire = wire_of(field)
        items: Iterator[Part] = iter([part])
        if part.wire == SIZED and wire not in (SIZED, GROUP):
            items = _packed(part, wire)
        return (one for one in items if is_known(field, one, self._schema))

    def _entry(self, column: _Column, data: bytes, budget: Budget) -> tuple[str, Any]:
        assert column.key is not None
        assert column.inner is not None
        key, value = zero(column.key), zero(column.inner)
        pieces = b""
        for part in parts_of(data):
            if part.number == 1 and part.wire == wire_of(column.key):
                key = part
            elif part.number == 2 and part.wire == wire_of(column.inner):
                pieces += part.data
                value = Part(2, part.wire, part.number_value, pieces if column.value.is_message else part.data)
        text = key_text(column.key, key)
        budget.take(column.growth)
        return text, column.value.read(value, budget)

    # columns

    def _column(self, member: Member, field: Field, reading: Reading) -> _Column:
        if not field.repeated:
            return _Column(member, field, self._value(field, member.type, reading, required=member.required))
        is_map = field.of in self._schema.entries
        match member.type:
            case MapOf(value, required) if is_map:
                key, inner = self._schema.messages[field.of]
                found = self._value(inner, value, reading, required=required)
                return _Column(member, field, found, key, inner, width(value) + found.added)
            case ListOf(item, required) if not is_map:
                found = self._value(field, item, reading, required=required)
                return _Column(member, field, found, growth=width(item) + found.added)
        raise MisfitError

    def _value(self, field: Field, type_: Type, reading: Reading, *, required: bool) -> Value:
        """Return how a value of a field becomes one of a type, or null. Raises `MisfitError`."""
        found = self._exact_value(field, type_, reading)
        if isinstance(type_, Struct) or type_ == Plain("json"):
            return found  # what is wrong is inside, or that there is too much of it
        return replace(found, read=partial(self._faults.or_null, found.read, required=required))

    def _exact_value(self, field: Field, type_: Type, reading: Reading) -> Value:
        if field.kind == "enum":
            return enumerated(self._schema.enums[field.of], type_)
        if field.kind not in ("message", "group"):
            return Value(scalar(field.kind, type_, reading))
        match type_:
            case Struct(members):
                message = Message(self._schema, field.of, members, lambda _: reading, self._faults)
                return Value(lambda part, budget: message.read(part.data, budget), message.added, is_message=True)
            case Timestamp(unit) if field.of == TIMESTAMP:
                return Value(lambda part, _: instant(part.data, unit), is_message=True)
            case Plain("json") if field.of in JSON:
                return Value(lambda part, budget: document(JSON[field.of], part.data, budget), is_message=True)
        if field.of not in WRAPPED:
            raise MisfitError
        inner = Field(1, "value", WRAPPED[field.of])
        read = scalar(inner.kind, type_, reading)
        return Value(lambda part, budget: read(last_value(inner, part.data), budget), is_message=True)


def _inside(step: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except RefusalError as error:
        raise error.below(step) from None


def _grown(column: _Column, item: Part, budget: Budget) -> Any:
    budget.take(column.growth)
    return column.value.read(item, budget)


def _packed(part: Part, wire: int) -> Iterator[Part]:
    cursor = Cursor(part.data)
    while cursor.left:
        yield cursor.part(part.number, wire)


def _is_other_text(field: Field, type_: Type) -> bool:
    return field.kind == "string" and type_ not in (Plain("string"), Binary())


def _default(member: Member) -> Any:
    """Return what stands in a column that the writer does not have. Raises `MisfitError`."""
    if member.default is None:
        if member.required:
            raise MisfitError
        return None
    found = json.loads(member.default)
    match member.type:
        case Decimal(_, scale):
            return Number((0, (0,), -scale))
        case Binary():
            return b""
        case MapOf():
            return []
        case Plain("float32" | "float64"):
            return 0.0
    return found
