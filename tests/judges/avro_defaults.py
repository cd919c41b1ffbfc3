"""What is in a column that the writer does not have: defaults of Avro's specification (1.12), as rows have them."""

import json
from decimal import Decimal as Number
from typing import Any, Final

import numpy as np

from logpersister.manifest.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Time, Timestamp, Type

GROWTH_OF_A_CHARACTER: Final = 16
"""Bytes that a character of a default's text may become, as limits count it."""


class MisfitError(Exception):
    """A writer's schema that cannot become the columns."""


def absent_value(column: Member) -> Any:
    """Return what stands for a value. Raises `MisfitError` where nothing can."""
    return _value(None if column.default is None else json.loads(column.default), column.type, column.required)


def _value(value: Any, type_: Type, required: bool) -> Any:  # noqa: PLR0911  (one for each type)
    if value is None:
        _expect(not required)
        return None
    match type_:
        case Plain("bool"):
            _expect(isinstance(value, bool))
            return value
        case Plain("string"):
            return _text(value)
        case Plain("float32" | "float64" as name):
            _expect(isinstance(value, int | float) and not isinstance(value, bool))
            return float(np.float32(value)) if name == "float32" else float(value)
        case Plain() | Time() | Timestamp():
            _expect(isinstance(value, int) and not isinstance(value, bool))
            return value
        case Binary():
            return _bytes(value)
        case Decimal(_, scale):
            number = int.from_bytes(_bytes(value), "big", signed=True)
            return Number((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
        case Struct(members):
            _expect(isinstance(value, dict))
            return {one.name: _member(value, one) for one in members}
        case ListOf(item, inner):
            _expect(isinstance(value, list))
            return [_value(one, item, inner) for one in value]
        case MapOf(item, inner):
            _expect(isinstance(value, dict))
            return [(key, _value(one, item, inner)) for key, one in sorted(value.items())]  # JSON has no order


def _member(value: dict[str, Any], member: Member) -> Any:
    return _value(value[member.name], member.type, member.required) if member.name in value else absent_value(member)


def _text(value: Any) -> str:
    _expect(isinstance(value, str))
    return str(value)


def _bytes(value: Any) -> bytes:
    try:
        return _text(value).encode("latin-1")
    except UnicodeEncodeError:
        raise MisfitError from None


def _expect(fits: bool) -> None:
    if not fits:
        raise MisfitError
