"""How values of protobuf stand in messages, as far as types are found in them."""

from collections.abc import Mapping
from typing import Final

from logpersister.manifest.protobuf.schema import Field, Schema
from tests.judges.protobuf_input import FIXED32, FIXED64, GROUP, SIZED, VARINT, Part
from tests.judges.refusal import RefusalError

_WIRES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("fixed32", "sfixed32", "float"), FIXED32),
    **dict.fromkeys(("fixed64", "sfixed64", "double"), FIXED64),
    **dict.fromkeys(("string", "bytes", "message"), SIZED),
    "group": GROUP,
}


def wire_of(field: Field) -> int:
    """Return the wire type by which a single value of a field is encoded."""
    return _WIRES.get(field.kind, VARINT)


def is_known(field: Field, part: Part, schema: Schema) -> bool:
    """Return whether a value is none that its closed enum does not have."""
    enum = schema.enums.get(field.of) if field.kind == "enum" else None
    return enum is None or not enum.closed or int32(part.number_value) in dict(enum.values)


def signed(number: int) -> int:
    """Return what a zigzag number stands for."""
    return (number >> 1) ^ -(number & 1)


def int32(number: int) -> int:
    """Return the low 32 bits of a varint with their sign."""
    return (number & 0x7FFFFFFF) - (number & 0x80000000)


def _narrow(number: int, bits: int) -> int:
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise RefusalError("overflow")
    return number
