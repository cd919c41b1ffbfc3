"""Checks whether the default of a field of an Avro schema can stand in its column. Pure."""

from typing import Any, Final

from logpersister.schemas.types import Binary, Decimal, ListOf, MapOf, Plain, Struct, Time, Timestamp, Type

_BITS: Final = {"int32": 32, "int64": 64, "date": 32}


def fits(default: Any, type_: Type, *, required: bool) -> bool:  # noqa: PLR0911  (one for each type)
    """Return whether a default, as JSON has it, is one by Avro's specification (1.12)."""
    if default is None:
        return not required
    match type_:
        case Plain("bool"):
            return isinstance(default, bool)
        case Plain("string"):
            return isinstance(default, str)
        case Plain("float32" | "float64"):
            return isinstance(default, float) or _is_whole(default, 64)
        case Plain(name):
            return name in _BITS and _is_whole(default, _BITS[name])
        case Time() | Timestamp():
            return _is_whole(default, 64)
        case Binary():
            return _is_bytes(default)
        case Decimal(precision, _):
            number = int.from_bytes(default.encode("latin-1"), "big", signed=True) if _is_bytes(default) else None
            return number is not None and abs(number) < 10**precision
        case Struct(members):
            return isinstance(default, dict) and all(
                fits(default[one.name], one.type, required=one.required)
                if one.name in default
                else one.default is not None or not one.required
                for one in members
            )
        case ListOf(item, inner):
            return isinstance(default, list) and all(fits(one, item, required=inner) for one in default)
        case MapOf(item, inner):
            return isinstance(default, dict) and all(fits(one, item, required=inner) for one in default.values())


def _is_whole(default: Any, bits: int) -> bool:
    whole = isinstance(default, int) and not isinstance(default, bool)
    return whole and -(2 ** (bits - 1)) <= default < 2 ** (bits - 1)


def _is_bytes(default: Any) -> bool:
    """Return whether each character stands for a byte."""
    return isinstance(default, str) and all(ord(one) < 256 for one in default)
