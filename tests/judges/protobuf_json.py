"""``google.protobuf.Struct``, ``Value`` and ``ListValue`` as JSON; no code of the native parser is in it."""

import json
import math
import struct
from decimal import Context, Decimal
from typing import Any

from tests.judges.protobuf_input import SIZED, Part, parts_of
from tests.judges.refusal import RefusalError

MOST_NESTED = 64
_EXACT = Context(prec=1100)
"""Has room for all digits of a number of 64 bits."""


def json_text(kind: str, data: bytes, depth: int = MOST_NESTED) -> str:
    """Return the text of an ``object``, a ``value`` or an ``array``. Raises `RefusalError`."""
    if depth == 0:
        raise RefusalError("too_deep")
    if kind == "object":
        return _object(data, depth - 1)
    if kind == "array":
        items = (json_text("value", one.data, depth - 1) for one in parts_of(data) if _is(one, 1, SIZED))
        return f"[{','.join(items)}]"
    return _value(data, depth - 1)


def _is(part: Part, number: int, wire: int) -> bool:
    return (part.number, part.wire) == (number, wire)


def _object(data: bytes, depth: int) -> str:
    members: dict[str, bytes] = {}
    for one in parts_of(data):
        if _is(one, 1, SIZED):
            name, value = "", b""
            for inner in parts_of(one.data):
                if _is(inner, 1, SIZED):
                    name = text_of(inner.data)
                elif _is(inner, 2, SIZED):
                    value += inner.data
            members.pop(name, None)
            members[name] = value
    inside = (f"{_quoted(name)}:{json_text('value', value, depth)}" for name, value in members.items())
    return f"{{{','.join(inside)}}}"


def _value(data: bytes, depth: int) -> str:
    found: tuple[str, Any] = "null", None
    for one in parts_of(data):
        match one.number, one.wire:
            case 1, 0:
                found = "null", None
            case 2, 1:
                found = "number", struct.unpack("<d", one.data)[0]
            case 3, 2:
                found = "string", text_of(one.data)
            case 4, 0:
                found = "bool", one.number_value != 0
            case (5 | 6) as number, 2:
                kind = "object" if number == 5 else "array"
                found = kind, (found[1] if found[0] == kind else b"") + one.data
    match found:
        case "number", number:
            return _number(number)
        case ("object" | "array") as kind, inner:
            return json_text(kind, inner, depth)
        case "string", text:
            return _quoted(text)
        case _:
            return json.dumps(found[1])


def _number(number: float) -> str:
    if not math.isfinite(number):
        raise RefusalError("overflow")
    return format(shortest(number), "f").removesuffix(".0")


def shortest(number: float) -> Decimal:
    """Return the shortest number that is read as this one; of two that are equally near, the larger one.

    `repr` takes the one whose last digit is even, the native parser does not: 1e15 + 0.25 is 1000000000000000.3 there.
    """
    found = Decimal(repr(number))
    last_digit = Decimal((0, (1,), int(found.as_tuple().exponent))).copy_sign(found)
    larger = _EXACT.add(found, last_digit)
    is_tie = _EXACT.add(found, larger) == _EXACT.multiply(2, Decimal(number)) and float(larger) == number
    return larger if is_tie else found


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def text_of(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise RefusalError("not_utf8") from None
