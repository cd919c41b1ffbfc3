"""Rows of Avro values made once more, value by value in plain Python; no code of the native parser is in it.

Encoding and resolution are those of Avro's specification (1.12), towards columns as docs/schemas.md says. Dates, times
and timestamps are integers, as in `verify.rows`.
"""

import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal as Number
from functools import cached_property, partial
from typing import Any, Final

from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.notation import epoch_unit
from logpersister.manifest.parser import Framing
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Time, Timestamp, Type
from logpersister.records.writers import NOBODYS, Writers, can_exist
from tests.judges import headers
from tests.judges.avro_defaults import GROWTH_OF_A_CHARACTER, MisfitError, absent_value
from tests.judges.avro_fingerprint import fingerprint
from tests.judges.avro_input import Cursor
from tests.judges.avro_schema import NoSchemaError, WrittenType, read_schema, skip
from tests.judges.faults import Faults
from tests.judges.growth import width
from tests.judges.json_values import Reading, column_value, exact_real, instant_in_range
from tests.judges.refusal import RefusalError
from tests.judges.rows import Oracle, Row

MOST_NESTED: Final = 64
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY: Final = 86_400
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


@dataclass(frozen=True)
class AvroOracle(Oracle):
    """A parser, as `records.parsers` has them, for verification."""

    schema: SchemaSpec
    framing: Framing
    writers: Writers | None
    faults: FaultsSpec = REFUSED

    def row(self, value: bytes) -> Row:
        writer_id, data = headers.split(value, self.framing)
        resolved = self._resolved.get(writer_id) or self._resolve(writer_id)
        if isinstance(resolved, str):
            raise RefusalError(resolved)
        return resolved.row(data)

    @cached_property
    def _resolved(self) -> "dict[int, _Resolved | str]":
        """By id of the writer's schema: what reads its values, or why they are refused."""
        found: dict[int, _Resolved | str] = {}
        for text in self.schema.written_by(self.framing):
            writer_id = headers.GIVEN if self.framing == "plain" else fingerprint(text)
            if writer_id is not None:
                found[writer_id] = self._reading(text)
        return found

    def _resolve(self, writer_id: int) -> "_Resolved | str":
        found = NOBODYS
        if self.writers is not None and can_exist(writer_id, self.framing):
            found = self.writers.schemas([writer_id])[writer_id]
        if self.framing == "singleObject" and found.text is not None and fingerprint(found.text) != writer_id:
            found = NOBODYS  # whoever says otherwise is wrong
        if found.is_unknown:
            return "unknown_schema"  # of which there may be any number, so they are not kept
        self._resolved[writer_id] = self._reading(found.text_for("avro"))
        return self._resolved[writer_id]

    def _reading(self, text: str | None) -> "_Resolved | str":
        try:
            return "other_schema" if text is None else _Resolved(text, self.schema, self.faults)
        except (MisfitError, NoSchemaError):
            return "other_schema"


_Read = Callable[[Cursor], Any]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a value of the writer becomes one of a column."""

    read: _Read
    added: int = 0
    """Bytes that it can take in the column beyond its own."""
    kind: str = "value"
    """``value``, ``null`` or ``refused``."""


@dataclass(frozen=True, slots=True)
class _Column:
    type: Type
    required: bool
    reading: Reading | None
    """None: it is the row itself, whose fields have one each."""


class _Resolved:
    """One writer's schema, resolved against the columns."""

    def __init__(self, text: str, schema: SchemaSpec, faults: FaultsSpec) -> None:
        """Resolve it. Raises `MisfitError` and `NoSchemaError`."""
        self._root = read_schema(text)
        self._faults = Faults(faults)
        self._depth = 0
        self._readings = {one.name: Reading(one.format or "rfc3339") for one in schema.columns}
        self._plan = self._value(self._root, _Column(Struct(schema.columns), required=True, reading=None))

    def row(self, data: bytes) -> Row:
        """Return the row of a value. Raises `RefusalError`."""
        cursor = Cursor(data)
        try:
            row: Row = self._plan.read(cursor)
            cursor.end()
        except RefusalError as error:
            whole = Cursor(data)
            skip(self._root, whole, MOST_NESTED)
            whole.end()
            raise RefusalError(error.reason, "" if error.reason in ("not_avro", "too_deep") else error.path) from None
        return row

    def _value(self, written: WrittenType, column: _Column) -> _Plan:
        self._depth += 1
        try:
            if written.kind == "null":
                return _null(column)
            return self._union(written, column) if written.kind == "union" else self._present(written, column)
        finally:
            self._depth -= 1

    def _union(self, written: WrittenType, column: _Column) -> _Plan:
        plans: list[_Plan] = []
        for branch in written.of:
            if branch.kind == "null":
                plans.append(_refused("missing") if column.required else _NULL)
                continue
            try:
                plans.append(self._value(branch, column))
            except MisfitError:
                plans.append(_refused("wrong_type"))
        kinds = {plan.kind for plan in plans}
        if kinds == {"refused"} or (kinds == {"refused", "null"} and len(plans) > 1):
            raise MisfitError
        return _Plan(lambda cursor: plans[cursor.place(len(plans))].read(cursor), max(plan.added for plan in plans))

    def _present(self, written: WrittenType, column: _Column) -> _Plan:
        match written.kind, column.type:
            case "record", Struct(members):
                return self._record(written, members, column.reading)
            case "array", ListOf(item, required):
                return self._list(written, _Column(item, required, column.reading))
            case "map", MapOf(value, required):
                return self._map(written, _Column(value, required, column.reading))
            case "enum", Plain("string"):
                symbols = written.symbols
                longest = max(len(one.encode()) for one in symbols)
                return _Plan(lambda cursor: symbols[cursor.place(len(symbols))], longest)
        plan = _scalar(written, column)
        read = partial(self._faults.or_null, plan.read, required=column.required)
        return replace(plan, read=read)

    def _record(self, written: WrittenType, members: tuple[Member, ...], reading: Reading | None) -> _Plan:
        targets = _targets([name for name, _ in written.fields], members)
        absent = [one for one in members if one not in targets.values()]
        defaults = {one.name: absent_value(one) for one in absent}
        plans: dict[str, _Plan] = {}
        for name, type_ in written.fields:
            if name in targets:
                member = targets[name]
                inner = self._readings[member.name] if reading is None else reading
                plans[name] = self._value(type_, _Column(member.type, member.required, inner))
        depth = MOST_NESTED - self._depth

        def read(cursor: Cursor) -> dict[str, Any]:
            found: dict[str, Any] = dict.fromkeys(one.name for one in members) | defaults
            for name, type_ in written.fields:
                if name in plans:
                    column = targets[name].name
                    found[column] = _below(column, plans[name].read, cursor)
                else:
                    skip(type_, cursor, depth)
            return found

        declared = sum(len(one.default or "") for one in absent)
        return _Plan(read, sum(plan.added for plan in plans.values()) + GROWTH_OF_A_CHARACTER * declared)

    def _list(self, written: WrittenType, column: _Column) -> _Plan:
        plan = self._value(written.of[0], column)
        growth = width(column.type) + plan.added

        def item(cursor: Cursor) -> Any:
            cursor.budget.take(growth)
            return plan.read(cursor)

        return _Plan(lambda cursor: [_below("[]", item, cursor) for _ in cursor.items()])

    def _map(self, written: WrittenType, column: _Column) -> _Plan:
        plan = self._value(written.of[0], column)
        growth = width(column.type) + plan.added

        def entry(cursor: Cursor) -> tuple[str, Any]:
            key = _text(cursor.sized())
            cursor.budget.take(growth)
            return key, plan.read(cursor)

        def read(cursor: Cursor) -> list[tuple[str, Any]]:
            found = [_below("{}", entry, cursor) for _ in cursor.items()]
            if len(dict(found)) < len(found):
                raise RefusalError("duplicate", "{}")
            return found

        return _Plan(read)


def _targets(written: list[str], members: tuple[Member, ...]) -> dict[str, Member]:
    """Return by field of the writer the column that it becomes: the one of its name, else one that has it as alias."""
    found = {one.name: one for one in members if one.name in written}
    for one in members:
        if one.name not in found:
            alias = next((alias for alias in one.aliases if alias in written and alias not in found), None)
            if alias is not None:
                found[alias] = one
    return found


def _below(step: str, read: _Read, cursor: Cursor) -> Any:
    try:
        return read(cursor)
    except RefusalError as error:
        raise error.below(step) from None


_NULL: Final = _Plan(lambda _: None, kind="null")


def _null(column: _Column) -> _Plan:
    if column.required:
        raise MisfitError
    return _NULL


def _refused(reason: str) -> _Plan:
    def read(_: Cursor) -> Any:
        raise RefusalError(reason)

    return _Plan(read, kind="refused")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise RefusalError("not_utf8") from None


def _scalar(written: WrittenType, column: _Column) -> _Plan:  # noqa: C901, PLR0911, PLR0912  (one for each type)
    """Return how a value is read that is made of no others."""
    kind, logical, type_ = written.kind, written.logical, column.type
    reading = column.reading or Reading("rfc3339")
    match type_:
        case Plain("bool") if kind == "boolean":
            return _Plan(Cursor.boolean)
        case Plain("int64") if kind == "long":
            return _Plan(Cursor.int64)
        case Plain("int8" | "int16" | "int32" | "int64" as name) if kind == "int":
            return _Plan(lambda cursor: _narrow(cursor.int32(), _BITS[name]))
        case Plain("float32" | "float64" as name) if kind in ("int", "long", "float", "double"):
            if (kind, name) != ("double", "float32"):
                return _Plan(lambda cursor: _real(cursor, kind, name))
        case Plain("date") if kind == "int" and logical in (None, "date"):
            return _Plan(lambda cursor: instant_in_range(cursor.int32() * _DAY) // _DAY)
        case Time(unit) if kind in ("int", "long"):
            return _time(kind, logical, unit)
        case Timestamp(unit) if kind in ("int", "long"):
            return _timestamp(kind, logical, unit, reading.format)
        case Decimal(precision, scale) if kind in ("bytes", "fixed"):
            return _decimal(written, precision, scale)
        case Binary() if kind in ("string", "bytes", "fixed"):
            return _Plan(lambda cursor: cursor.take(written.size) if kind == "fixed" else cursor.sized())
        case Plain("string") if kind == "fixed" and logical == "uuid":
            return _Plan(lambda cursor: str(uuid.UUID(bytes=cursor.take(16))), 36)
        case Plain("string") if kind == "string" or (kind == "bytes" and logical is None):
            return _Plan(lambda cursor: _text(cursor.sized()))
        case Plain("date") | Time() | Decimal() if kind == "string":
            return _Plan(lambda cursor: column_value(_text(cursor.sized()), type_, reading))
        case Timestamp() if kind == "string" and epoch_unit(reading.format) is None:
            return _Plan(lambda cursor: column_value(_text(cursor.sized()), type_, reading))
    raise MisfitError


def _narrow(number: int, bits: int) -> int:
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise RefusalError("overflow")
    return number


def _real(cursor: Cursor, kind: str, name: str) -> float:
    if kind == "double":
        return float(struct.unpack("<d", cursor.take(8))[0])
    if kind == "float":
        return float(struct.unpack("<f", cursor.take(4))[0])
    return exact_real(cursor.int32() if kind == "int" else cursor.int64(), name)


def _time(kind: str, logical: object, unit: str) -> _Plan:
    if isinstance(logical, str) and logical.startswith("time-"):
        source = logical.removeprefix("time-")
    elif logical is None and (kind == "int") == (unit == "ms"):
        source = unit
    else:
        raise MisfitError
    per_second = _PER_SECOND[source]

    def read(cursor: Cursor) -> int:
        number = cursor.int32() if kind == "int" else cursor.int64()
        if not 0 <= number < _DAY * per_second:
            raise RefusalError("overflow")
        return number * _PER_SECOND[unit] // per_second

    return _Plan(read)


def _timestamp(kind: str, logical: object, unit: str, notation: str) -> _Plan:
    if isinstance(logical, str) and logical.startswith("timestamp-"):
        source = logical.removeprefix("timestamp-")
    elif logical is None and (unit_of_numbers := epoch_unit(notation)) is not None:
        source = unit_of_numbers
    else:
        raise MisfitError
    per_second = _PER_SECOND[source]

    def read(cursor: Cursor) -> int:
        number = cursor.int32() if kind == "int" else cursor.int64()
        instant_in_range(number // per_second)
        return _narrow(number * _PER_SECOND[unit] // per_second, 64)

    return _Plan(read)


def _decimal(written: WrittenType, precision: int, scale: int) -> _Plan:
    more = scale - written.logical[1] if isinstance(written.logical, tuple) else 0
    if not 0 <= more <= precision:
        raise MisfitError

    def read(cursor: Cursor) -> Number:
        digits = cursor.take(written.size) if written.kind == "fixed" else cursor.sized()
        number = int.from_bytes(digits, "big", signed=True) * 10**more
        if abs(number) >= 10**precision:
            raise RefusalError("overflow")
        return Number((int(number < 0), tuple(map(int, str(abs(number)))), -scale))

    return _Plan(read)
