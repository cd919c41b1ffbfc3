"""What JSON values become in columns that are not made of others; no code of the native parser is in it.

docs/schemas.md says what becomes what. What Python has no exact type for is as it stands in Arrow: dates are days,
times and timestamps units since midnight and 1970.
"""

import base64
import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal as Number
from decimal import InvalidOperation
from fractions import Fraction
from typing import Any, Final

import numpy as np

from logpersister.forms.notation import epoch_unit
from logpersister.schemas.types import Binary, Decimal, Plain, Time, Timestamp, Type
from tests.judges.json_text import Node, NotJsonError, tree_of
from tests.judges.refusal import RefusalError
from tests.judges.time_texts import days_since_1970, instant_of

MOST_NESTED: Final = 64

_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST_SECOND: Final = (date(1, 1, 1) - date(1970, 1, 1)) // timedelta(seconds=1)
_LAST_SECOND: Final = (date(9999, 12, 31) - date(1970, 1, 1)) // timedelta(seconds=1) + 86_399
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_DATE: Final = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME: Final = r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]+))?"
_DATE_ALONE: Final = re.compile(_DATE)
_TIME_ALONE: Final = re.compile(_TIME)
_INSTANT: Final = re.compile(_DATE + "[Tt ]" + _TIME + r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))?")


@dataclass(frozen=True, slots=True)
class Reading:
    """What holds for everything in a field."""

    format: str


def document_of(value: bytes, *, replaces_invalid: bool = False) -> Node:
    """Return the document that a value is, which may still be anything. Raises `RefusalError`.

    `replaces_invalid`: whether U+FFFD takes the place of what is no UTF-8.
    """
    try:
        text = value.decode(errors="replace" if replaces_invalid else "strict")
    except UnicodeDecodeError:
        raise RefusalError("not_utf8") from None
    if replaces_invalid:
        text = _ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)
    try:
        tree = tree_of(text)
    except NotJsonError:
        raise RefusalError("not_json") from None
    if tree.depth > MOST_NESTED:
        raise RefusalError("too_deep")
    if "\\u" in text and any(token[0] == '"' and _is_half(token) for token in tree.tokens):
        raise RefusalError("bad_text")
    return tree


def _is_half(token: str) -> bool:
    return _SURROGATE.search(Node("string", [token], 0, 1).string) is not None


def plain_value(node: Node, type_: Type, reading: Reading) -> Any:
    """Return what a value becomes. Raises `RefusalError`, also for types that are made of others."""
    match type_:
        case Plain(name):
            return _PLAIN[name](node) if name in _PLAIN else _integer(node, _BITS[name])
        case Binary():
            return _bytes(_string(node))
        case Time(unit):
            return time_of(_string(node), unit)
        case Timestamp(unit):
            return _timestamp(node, unit, reading.format)
        case Decimal(precision, scale):
            if node.kind not in ("string", "number"):
                raise RefusalError("wrong_type")
            return decimal_of(node.string if node.kind == "string" else node.text, precision, scale)
        case _:
            raise RefusalError("wrong_type")


def column_value(text: str, type_: Type, reading: Reading) -> Any:
    """Return what a text becomes in a column, as the same text in JSON does. Raises `RefusalError`."""
    return plain_value(Node("string", [json.dumps(text)], 0, 1), type_, reading)


def number_value(text: str, type_: Type, reading: Reading) -> Any:
    """Return what the text of a number becomes in a column, as the number in JSON does. Raises `RefusalError`."""
    if _NUMBER.fullmatch(text) is None:
        raise RefusalError("bad_text")
    return plain_value(Node("number", [text], 0, 1), type_, reading)


def document_text(text: str) -> str:
    """Return the text of a JSON document without white space outside of strings. Raises `RefusalError`."""
    try:
        return document_of(text.encode()).text
    except RefusalError:
        raise RefusalError("bad_text") from None


def _expect(node: Node, kind: str) -> None:
    if node.kind != kind:
        raise RefusalError("wrong_type")


def _string(node: Node) -> str:
    _expect(node, "string")
    return node.string


def _bool(node: Node) -> bool:
    _expect(node, "word")
    return node.text == "true"


def _integer(node: Node, bits: int) -> int:
    _expect(node, "number")
    if not node.text.lstrip("-").isdigit():
        raise RefusalError("wrong_type")
    digits = node.text.lstrip("-")
    if len(digits) > 19:  # also what Python would not convert
        raise RefusalError("overflow")
    number = int(node.text)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise RefusalError("overflow")
    return number


def _double(node: Node) -> float:
    number = _nearest(node)
    _check_whole(node.text, number, repr(number), 53)
    return number


def _nearest(node: Node) -> float:
    _expect(node, "number")
    number = float(node.text)
    if math.isinf(number):
        raise RefusalError("overflow")
    return number


def _check_whole(text: str, number: float, shortest: str, bits: int) -> None:
    """Refuse a whole number that is not what a float says, by all of its digits or by the fewest and zeros."""
    if (
        text.lstrip("-").isdigit()
        and abs(int(text)) > 2**bits
        and int(text) not in (int(number), int(Number(shortest)))
    ):
        raise RefusalError("overflow")


def _single(node: Node) -> float:
    number = _nearest_single(node)
    _check_whole(node.text, number, str(np.float32(number)), 24)
    return number


def _nearest_single(node: Node) -> float:
    double = _nearest(node)
    return math.copysign(0.0, double) if abs(double) < 2**-151 else single_of(Fraction(node.text))


def single_of(exact: Fraction) -> float:
    """Return what float32 has for a number; by way of a double, some would be rounded twice. Raises `RefusalError`."""
    if abs(exact) >= 2**128 - 2**103:
        raise RefusalError("overflow")
    with np.errstate(over="ignore"):
        near = np.float32(float(exact))
        around = [near, *(np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf))]
    finite = [one for one in around if np.isfinite(one)]
    return float(min(finite, key=lambda one: (abs(Fraction(float(one)) - exact), struct.pack("<f", one)[0] & 1)))


def date_of(text: str) -> int:
    """Return the days since 1970 that a text says. Raises `RefusalError`."""
    match = _DATE_ALONE.fullmatch(text)
    if match is None:
        raise RefusalError("bad_text")
    return instant_in_range(_days(match) * 86_400) // 86_400


def _days(match: re.Match[str]) -> int:
    return days_since_1970(*(int(match[group]) for group in (1, 2, 3)))


def time_of(text: str, unit: str) -> int:
    """Return the units since midnight that a text says. Raises `RefusalError`."""
    match = _TIME_ALONE.fullmatch(text)
    if match is None:
        raise RefusalError("bad_text")
    seconds, nanoseconds = _seconds(match, 1)
    return seconds * _PER_SECOND[unit] + nanoseconds * _PER_SECOND[unit] // 10**9


def _seconds(match: re.Match[str], first: int) -> tuple[int, int]:
    hours, minutes, seconds = (int(match[first + step]) for step in range(3))
    return (hours * 60 + minutes) * 60 + seconds, int((match[first + 3] or "0")[:9].ljust(9, "0"))


def _timestamp(node: Node, unit: str, written: str) -> int:
    if (source := epoch_unit(written)) is not None:
        per_second = _PER_SECOND[source]
        number = _integer(node, 64)
        instant_in_range(number // per_second)
        return _fitting(number * _PER_SECOND[unit] // per_second)
    text = _string(node)
    seconds, nanoseconds = rfc3339(text) if written == "rfc3339" else instant_of(text, written)
    return _fitting(instant_in_range(seconds) * _PER_SECOND[unit] + nanoseconds * _PER_SECOND[unit] // 10**9)


def rfc3339(text: str) -> tuple[int, int]:
    """Return the seconds since 1970 that a text says, and nanoseconds from there. Raises `RefusalError`."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise RefusalError("bad_text")
    seconds, nanoseconds = _seconds(match, 4)
    seconds += _days(match) * 86_400
    if match[8]:
        seconds -= int(match[8] + "1") * (int(match[9]) * 60 + int(match[10])) * 60
    return seconds, nanoseconds


def instant_in_range(second: int) -> int:
    """Return a second since 1970 of the years 1 to 9999. Raises `RefusalError` for others."""
    if not _FIRST_SECOND <= second <= _LAST_SECOND:
        raise RefusalError("overflow")
    return second


def _fitting(number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise RefusalError("overflow")
    return number


def decimal_of(text: str, precision: int, scale: int) -> Number:
    """Return what a text says, without zeros that say nothing. Raises `RefusalError`."""
    if _NUMBER.fullmatch(text) is None:
        raise RefusalError("bad_text")
    digits = re.split("[eE]", text)[0].replace(".", "").lstrip("-0").rstrip("0")
    if not digits:
        return Number(0)
    try:
        number = Number(text)
    except InvalidOperation:  # an exponent beyond all bounds
        raise RefusalError("overflow") from None
    last = number.adjusted() - len(digits) + 1
    if last < -scale or number.adjusted() >= precision - scale:
        raise RefusalError("overflow")
    return number


def _bytes(text: str) -> bytes:
    try:
        found = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        raise RefusalError("bad_text") from None
    if base64.b64encode(found) != text.encode():
        raise RefusalError("bad_text")
    return found


_PLAIN: "Final[Mapping[str, Callable[[Node], Any]]]" = {
    "bool": _bool,
    "float32": _single,
    "float64": _double,
    "string": _string,
    "date": lambda node: date_of(_string(node)),
    "json": lambda node: node.text,
}
