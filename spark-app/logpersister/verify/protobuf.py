"""Rows of protobuf messages made once more, value by value in plain Python; no code of the native parser is in it.

Encoding is that of protobuf's specification, columns are as docs/schemas.md says. Dates, times and timestamps are
integers, as in `verify.rows`.
"""

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal as Number
from functools import cached_property
from typing import Any, Final

from logpersister.manifest.parser import Framing
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.schema import Enum, Field, Schema, read_schema
from logpersister.manifest.protobuf.well_known import JSON, TIMESTAMP, WRAPPED
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Time, Timestamp, Type
from logpersister.records.writers import ID_BYTES, Writers
from logpersister.verify.avro import width
from logpersister.verify.avro_defaults import GROWTH_OF_A_CHARACTER, MisfitError
from logpersister.verify.protobuf_input import FIXED32, FIXED64, GROUP, SIZED, VARINT, Budget, Cursor, Part, parts_of
from logpersister.verify.protobuf_json import json_text, text_of
from logpersister.verify.rows import Oracle, Reading, RefusalError, Row, column_value, instant_in_range

_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_WIRES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("fixed32", "sfixed32", "float"), FIXED32),
    **dict.fromkeys(("fixed64", "sfixed64", "double"), FIXED64),
    **dict.fromkeys(("string", "bytes", "message"), SIZED),
    "group": GROUP,
}
_FIXED: Final = {"fixed32": "<I", "sfixed32": "<i", "fixed64": "<Q", "sfixed64": "<q", "float": "<f", "double": "<d"}
_SMALL: Final = frozenset({"int32", "uint32", "sint32", "fixed32", "sfixed32"})
_INTEGERS: Final = _SMALL | {"int64", "uint64", "sint64", "fixed64", "sfixed64"}
_LONGEST_NUMBER: Final = 11
_MOST_INDEXES: Final = 32
_PLAIN_ID: Final = 0


@dataclass(frozen=True)
class ProtobufOracle(Oracle):
    """A parser, as `records.parsers` has them, for verification."""

    schema: SchemaSpec
    framing: Framing
    writers: Writers | None

    def row(self, value: bytes) -> Row:
        writer_id, selector, data = self._split(value)
        if writer_id not in self._schemas:
            self._schemas[writer_id] = self._schema(writer_id)
        schema = self._schemas[writer_id]
        if isinstance(schema, str):
            raise RefusalError(schema)
        name = _selected(schema, selector, self.schema.message)
        if (writer_id, name) not in self._messages:
            self._messages[writer_id, name] = self._resolved(schema, name)
        message = self._messages[writer_id, name]
        if message is None:
            raise RefusalError("other_schema")
        return message.read(data, Budget(data))

    @cached_property
    def _schemas(self) -> dict[int, Schema | str]:
        """By id: the schema, or why its values are refused."""
        return {}

    @cached_property
    def _messages(self) -> "dict[tuple[int, str], _Message | None]":
        return {}

    def _split(self, value: bytes) -> tuple[int, tuple[int, ...] | str | None, bytes]:
        """Return the id, what names the message (None: the manifest does), and the message."""
        if self.framing == "plain":
            return _PLAIN_ID, None, value
        size = 1 + ID_BYTES[self.framing]
        if len(value) < size or value[0] != 0:
            raise RefusalError("no_header")
        try:
            cursor = Cursor(value[size:])
            selector = _indexes(cursor) if self.framing == "confluent" else _reference(cursor.sized())
        except RefusalError:
            raise RefusalError("no_header") from None
        return int.from_bytes(value[1:size], "big"), selector, cursor.take(cursor.left)

    def _schema(self, writer_id: int) -> Schema | str:
        text = self.schema.protobuf
        if self.writers is not None:
            found = self.writers.schemas([writer_id])[writer_id]
            if found.text is None:
                return "unknown_schema" if found.is_unknown else "other_schema"
            text = found.text
        try:
            return read_schema(text or "")
        except ProtobufError:
            return "other_schema"

    def _resolved(self, schema: Schema, name: str) -> "_Message | None":
        readings = {one.name: Reading(one.format or "rfc3339") for one in self.schema.columns}
        try:
            return _Message(schema, name, self.schema.columns, readings.__getitem__)
        except MisfitError:
            return None


def _indexes(cursor: Cursor) -> tuple[int, ...]:
    count = _signed(cursor.varint())
    if not 0 <= count <= _MOST_INDEXES:
        raise RefusalError("no_header")
    return tuple(_signed(cursor.varint()) for _ in range(count)) or (0,)


def _reference(data: bytes) -> str:
    name = ""
    for part in parts_of(data):
        if (part.number, part.wire) == (1, SIZED):
            name = text_of(part.data)
    return name


def _selected(schema: Schema, selector: tuple[int, ...] | str | None, given: str | None) -> str:
    try:
        if isinstance(selector, tuple):
            found = schema.at(selector)
        else:
            found = schema.message(given if selector is None else selector)
    except ProtobufError:
        found = None
    if found is None:
        raise RefusalError("other_schema")
    return found


_Read = Callable[[Part, Budget], Any]
_ReadingOf = Callable[[str], Reading]


@dataclass(frozen=True, slots=True)
class _Value:
    """How one value becomes one of a column."""

    read: _Read
    added: int = 0
    """Bytes that it can take in the column beyond its own."""
    is_message: bool = False


@dataclass(frozen=True, slots=True)
class _Column:
    """A column with a field of the writer."""

    member: Member
    field: Field
    value: _Value
    key: Field | None = None
    """Of a map."""
    inner: Field | None = None
    growth: int = 0
    """Of an item."""


class _Message:
    """One message of a writer, resolved against columns."""

    def __init__(self, schema: Schema, name: str, members: tuple[Member, ...], reading_of: _ReadingOf) -> None:
        """Resolve it. Raises `MisfitError`."""
        self._schema = schema
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
            found = _inside(member.name, lambda: column.value.read(_zero(column.field), budget))
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
                    if one.wire == _wire(key if one.number == 1 else value)
                }
                if 2 in inside and not _is_known(value, inside[2], self._schema):
                    return None
                return field.number, _key_text(key, inside.get(1, _zero(key)))
            except RefusalError:
                pass  # told when it is read
        return field.number, "", place

    def _is_of(self, field: Field, part: Part) -> bool:
        """Return whether a part is a value of a field; else it counts as unknown."""
        if part.wire == SIZED and field.repeated and _wire(field) not in (SIZED, GROUP):
            return True
        return part.wire == _wire(field) and (field.repeated or _is_known(field, part, self._schema))

    def _items(self, field: Field, part: Part) -> Iterator[Part]:
        wire = _wire(field)
        items: Iterator[Part] = iter([part])
        if part.wire == SIZED and wire not in (SIZED, GROUP):
            items = _packed(part, wire)
        return (one for one in items if _is_known(field, one, self._schema))

    def _entry(self, column: _Column, data: bytes, budget: Budget) -> tuple[str, Any]:
        assert column.key is not None
        assert column.inner is not None
        key, value = _zero(column.key), _zero(column.inner)
        pieces = b""
        for part in parts_of(data):
            if part.number == 1 and part.wire == _wire(column.key):
                key = part
            elif part.number == 2 and part.wire == _wire(column.inner):
                pieces += part.data
                value = Part(2, part.wire, part.number_value, pieces if column.value.is_message else part.data)
        text = _key_text(column.key, key)
        budget.take(column.growth)
        return text, column.value.read(value, budget)

    # columns

    def _column(self, member: Member, field: Field, reading: Reading) -> _Column:
        if not field.repeated:
            return _Column(member, field, self._value(field, member.type, reading))
        is_map = field.of in self._schema.entries
        match member.type:
            case MapOf(value) if is_map:
                key, inner = self._schema.messages[field.of]
                found = self._value(inner, value, reading)
                return _Column(member, field, found, key, inner, width(value) + found.added)
            case ListOf(item) if not is_map:
                found = self._value(field, item, reading)
                return _Column(member, field, found, growth=width(item) + found.added)
        raise MisfitError

    def _value(self, field: Field, type_: Type, reading: Reading) -> _Value:
        """Return how a value of a field becomes one of a type. Raises `MisfitError`."""
        if field.kind == "enum":
            return _enum(self._schema.enums[field.of], type_)
        if field.kind not in ("message", "group"):
            return _Value(_scalar(field.kind, type_, reading))
        match type_:
            case Struct(members):
                message = _Message(self._schema, field.of, members, lambda _: reading)
                return _Value(lambda part, budget: message.read(part.data, budget), message.added, is_message=True)
            case Timestamp(unit) if field.of == TIMESTAMP:
                return _Value(lambda part, _: _timestamp(part.data, unit), is_message=True)
            case Plain("json") if field.of in JSON:
                return _Value(lambda part, budget: _json(JSON[field.of], part.data, budget), is_message=True)
        if field.of not in WRAPPED:
            raise MisfitError
        inner = Field(1, "value", WRAPPED[field.of])
        read = _scalar(inner.kind, type_, reading)
        return _Value(lambda part, budget: read(_last(inner, part.data), budget), is_message=True)


def _inside(step: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except RefusalError as error:
        raise error.below(step) from None


def _grown(column: _Column, item: Part, budget: Budget) -> Any:
    budget.take(column.growth)
    return column.value.read(item, budget)


def _wire(field: Field) -> int:
    return _WIRES.get(field.kind, VARINT)


def _zero(field: Field) -> Part:
    """Return what stands where a field is not."""
    size = {FIXED32: 4, FIXED64: 8}.get(_wire(field), 0)
    return Part(field.number, _wire(field), data=bytes(size))


def _is_known(field: Field, part: Part, schema: Schema) -> bool:
    """Return whether a value is none that its closed enum does not have."""
    enum = schema.enums.get(field.of) if field.kind == "enum" else None
    return enum is None or not enum.closed or _int32(part.number_value) in dict(enum.values)


def _packed(part: Part, wire: int) -> Iterator[Part]:
    cursor = Cursor(part.data)
    while cursor.left:
        yield cursor.part(part.number, wire)


def _last(field: Field, data: bytes) -> Part:
    found = _zero(field)
    for part in parts_of(data):
        if (part.number, part.wire) == (field.number, _wire(field)):
            found = part
    return found


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


def _signed(number: int) -> int:
    """Return what a zigzag number stands for."""
    return (number >> 1) ^ -(number & 1)


def _int32(number: int) -> int:
    return (number & 0x7FFFFFFF) - (number & 0x80000000)


def _int64(number: int) -> int:
    return (number & (2**63 - 1)) - (number & 2**63)


def _number(kind: str, part: Part) -> Any:  # noqa: PLR0911  (one for each kind)
    if kind in _FIXED:
        return struct.unpack(_FIXED[kind], part.data)[0]
    match kind:
        case "int32":
            return _int32(part.number_value)
        case "int64":
            return _int64(part.number_value)
        case "uint32":
            return part.number_value & 0xFFFFFFFF
        case "sint32":
            return _signed(part.number_value & 0xFFFFFFFF)
        case "sint64":
            return _signed(part.number_value)
        case _:
            return part.number_value


def _key_text(field: Field, part: Part) -> str:
    if field.kind == "string":
        return text_of(part.data)
    if field.kind == "bool":
        return "true" if part.number_value else "false"
    return str(_number(field.kind, part))


def _narrow(number: int, bits: int) -> int:
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise RefusalError("overflow")
    return number


def _scalar(kind: str, type_: Type, reading: Reading) -> _Read:  # noqa: PLR0911  (one for each type)
    match type_:
        case Plain("bool") if kind == "bool":
            return lambda part, _: part.number_value != 0
        case Plain("int8" | "int16" | "int32" | "int64" as name) if kind in _INTEGERS:
            return lambda part, _: _narrow(_number(kind, part), _BITS[name])
        case Plain("float32") if kind == "float":
            return lambda part, _: _number(kind, part)
        case Plain("float64") if kind in ("float", "double") or kind in _SMALL:
            return lambda part, _: float(_number(kind, part))
        case Decimal(precision, scale) if kind in _INTEGERS:
            return lambda part, _: _decimal(_number(kind, part), precision, scale)
        case Timestamp(unit) if kind in _INTEGERS and reading.format.startswith("epoch["):
            return lambda part, _: _epoch(_narrow(_number(kind, part), 64), reading.format[6:-1], unit)
        case Plain("string") if kind in ("string", "bytes"):
            return lambda part, _: text_of(part.data)
        case Binary() if kind in ("string", "bytes"):
            return lambda part, _: part.data
        case Plain("date") | Time() | Decimal() if kind == "string":
            return lambda part, _: column_value(text_of(part.data), type_, reading)
        case Timestamp() if kind == "string" and reading.format == "rfc3339":
            return lambda part, _: column_value(text_of(part.data), type_, reading)
    raise MisfitError


def _enum(enum: Enum, type_: Type) -> _Value:
    names: dict[int, str] = {}
    for number, name in enum.values:
        names.setdefault(number, name)
    longest = max([_LONGEST_NUMBER, *(len(name.encode()) for name in names.values())])

    def name_of(part: Part, _: Budget) -> str:
        number = _int32(part.number_value)
        return names.get(number, str(number))

    if type_ == Plain("string"):
        return _Value(name_of, longest)
    if type_ in (Plain("int32"), Plain("int64")):
        return _Value(lambda part, _: _int32(part.number_value), longest)
    raise MisfitError


def _decimal(number: int, precision: int, scale: int) -> Number:
    unscaled = number * 10**scale
    if abs(unscaled) >= 10**precision:
        raise RefusalError("overflow")
    return Number((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _epoch(number: int, source: str, unit: str) -> int:
    instant_in_range(number // _PER_SECOND[source])
    return _narrow(number * _PER_SECOND[unit] // _PER_SECOND[source], 64)


def _timestamp(data: bytes, unit: str) -> int:
    seconds = nanoseconds = 0
    for part in parts_of(data):
        if (part.number, part.wire) == (1, VARINT):
            seconds = _int64(part.number_value)
        elif (part.number, part.wire) == (2, VARINT):
            nanoseconds = _int32(part.number_value)
    if not 0 <= nanoseconds < 10**9:
        raise RefusalError("overflow")
    instant_in_range(seconds)
    return _narrow((seconds * 10**9 + nanoseconds) * _PER_SECOND[unit] // 10**9, 64)


def _json(kind: str, data: bytes, budget: Budget) -> str:
    text = json_text(kind, data)
    budget.take(len(text.encode()))
    return text
