"""Values of protobuf fields as values of columns, one by one; no code of the native parser is in it."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import Any, Final

from logpersister.manifest.notation import epoch_unit
from logpersister.manifest.protobuf.schema import Enum, Field, Schema
from logpersister.manifest.types import Binary, Decimal, Plain, Time, Timestamp, Type
from tests.judges.avro_defaults import MisfitError
from tests.judges.growth import Budget
from tests.judges.json_values import Reading, column_value, instant_in_range
from tests.judges.protobuf_input import FIXED32, FIXED64, GROUP, SIZED, VARINT, Part, parts_of
from tests.judges.protobuf_json import json_text, text_of
from tests.judges.refusal import RefusalError

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

Read = Callable[[Part, Budget], Any]


@dataclass(frozen=True, slots=True)
class Value:
    """How one value becomes one of a column."""

    read: Read
    added: int = 0
    """Bytes that it can take in the column beyond its own."""
    is_message: bool = False


def wire_of(field: Field) -> int:
    """Return the wire type by which a single value of a field is encoded."""
    return _WIRES.get(field.kind, VARINT)


def zero(field: Field) -> Part:
    """Return what stands where a field is not."""
    size = {FIXED32: 4, FIXED64: 8}.get(wire_of(field), 0)
    return Part(field.number, wire_of(field), data=bytes(size))


def is_known(field: Field, part: Part, schema: Schema) -> bool:
    """Return whether a value is none that its closed enum does not have."""
    enum = schema.enums.get(field.of) if field.kind == "enum" else None
    return enum is None or not enum.closed or int32(part.number_value) in dict(enum.values)


def last_value(field: Field, data: bytes) -> Part:
    """Return the last value of a field in a message; zero where there is none."""
    found = zero(field)
    for part in parts_of(data):
        if (part.number, part.wire) == (field.number, wire_of(field)):
            found = part
    return found


def signed(number: int) -> int:
    """Return what a zigzag number stands for."""
    return (number >> 1) ^ -(number & 1)


def int32(number: int) -> int:
    """Return the low 32 bits of a varint with their sign."""
    return (number & 0x7FFFFFFF) - (number & 0x80000000)


def int64(number: int) -> int:
    """Return the 64 bits of a varint with their sign."""
    return (number & (2**63 - 1)) - (number & 2**63)


def number_of(kind: str, part: Part) -> Any:  # noqa: PLR0911  (one for each kind)
    """Return the number that a value of a kind is."""
    if kind in _FIXED:
        return struct.unpack(_FIXED[kind], part.data)[0]
    match kind:
        case "int32":
            return int32(part.number_value)
        case "int64":
            return int64(part.number_value)
        case "uint32":
            return part.number_value & 0xFFFFFFFF
        case "sint32":
            return signed(part.number_value & 0xFFFFFFFF)
        case "sint64":
            return signed(part.number_value)
        case _:
            return part.number_value


def key_text(field: Field, part: Part) -> str:
    """Return the key of a map as text. Raises `RefusalError`."""
    if field.kind == "string":
        return text_of(part.data)
    if field.kind == "bool":
        return "true" if part.number_value else "false"
    return str(number_of(field.kind, part))


def _narrow(number: int, bits: int) -> int:
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise RefusalError("overflow")
    return number


def scalar(kind: str, type_: Type, reading: Reading) -> Read:  # noqa: PLR0911  (one for each type)
    """Return what makes a value of a type from one of a kind. Raises `MisfitError`."""
    match type_:
        case Plain("bool") if kind == "bool":
            return lambda part, _: part.number_value != 0
        case Plain("int8" | "int16" | "int32" | "int64" as name) if kind in _INTEGERS:
            return lambda part, _: _narrow(number_of(kind, part), _BITS[name])
        case Plain("float32") if kind == "float":
            return lambda part, _: number_of(kind, part)
        case Plain("float64") if kind in ("float", "double") or kind in _SMALL:
            return lambda part, _: float(number_of(kind, part))
        case Decimal(precision, scale) if kind in _INTEGERS:
            return lambda part, _: _decimal(number_of(kind, part), precision, scale)
        case Timestamp(unit) if kind in _INTEGERS and (source := epoch_unit(reading.format)) is not None:
            return lambda part, _: _epoch(_narrow(number_of(kind, part), 64), source, unit)
        case Plain("string") if kind in ("string", "bytes"):
            return lambda part, _: text_of(part.data)
        case Binary() if kind in ("string", "bytes"):
            return lambda part, _: part.data
        case Plain("date") | Time() | Decimal() if kind == "string":
            return lambda part, _: column_value(text_of(part.data), type_, reading)
        case Timestamp() if kind == "string" and epoch_unit(reading.format) is None:
            return lambda part, _: column_value(text_of(part.data), type_, reading)
    raise MisfitError


def enumerated(enum: Enum, type_: Type) -> Value:
    """Return what makes the name of a symbol, or its number. Raises `MisfitError`."""
    names: dict[int, str] = {}
    for number, name in enum.values:
        names.setdefault(number, name)
    longest = max([_LONGEST_NUMBER, *(len(name.encode()) for name in names.values())])

    def name_of(part: Part, _: Budget) -> str:
        number = int32(part.number_value)
        return names.get(number, str(number))

    if type_ == Plain("string"):
        return Value(name_of, longest)
    if type_ in (Plain("int32"), Plain("int64")):
        return Value(lambda part, _: int32(part.number_value), longest)
    raise MisfitError


def _decimal(number: int, precision: int, scale: int) -> Number:
    unscaled = number * 10**scale
    if abs(unscaled) >= 10**precision:
        raise RefusalError("overflow")
    return Number((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _epoch(number: int, source: str, unit: str) -> int:
    instant_in_range(number // _PER_SECOND[source])
    return _narrow(number * _PER_SECOND[unit] // _PER_SECOND[source], 64)


def instant(data: bytes, unit: str) -> int:
    """Return a `google.protobuf.Timestamp` in units since 1970. Raises `RefusalError`."""
    seconds = nanoseconds = 0
    for part in parts_of(data):
        if (part.number, part.wire) == (1, VARINT):
            seconds = int64(part.number_value)
        elif (part.number, part.wire) == (2, VARINT):
            nanoseconds = int32(part.number_value)
    if not 0 <= nanoseconds < 10**9:
        raise RefusalError("overflow")
    instant_in_range(seconds)
    return _narrow((seconds * 10**9 + nanoseconds) * _PER_SECOND[unit] // 10**9, 64)


def document(kind: str, data: bytes, budget: Budget) -> str:
    """Return a well-known type as the text of its JSON. Raises `RefusalError`."""
    text = json_text(kind, data)
    budget.take(len(text.encode()))
    return text
