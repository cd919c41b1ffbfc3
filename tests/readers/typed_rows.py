"""Rows of every type in every shape, as JSON and as what any reader of a file must give for them.

What readers give is compared as plain values: dates are days, times and timestamps nanoseconds, floating-point numbers
their exact text, maps and structs dictionaries.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np

Written = tuple[str, Any]
"""The JSON of a value, and the plain value."""
ROWS: Final = 48
"""So many that each value meets each shape."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _text(text: str) -> Written:
    return json.dumps(text), text


def _integers(bits: int) -> list[Written]:
    most = 2 ** (bits - 1) - 1
    return [(str(one), one) for one in (0, -1, most, -most - 1)]


def _floats(kind: type[np.floating[Any]], *texts: str) -> list[Written]:
    return [(text, float(kind(text)).hex()) for text in texts]


def _decimals(*texts: str) -> list[Written]:
    return [(text, Decimal(text)) for text in texts]


def _binary(content: bytes) -> Written:
    return json.dumps(b64encode(content).decode()), content


def _date(text: str) -> Written:
    return json.dumps(text), (date.fromisoformat(text) - date(1970, 1, 1)).days


def _time(text: str) -> Written:
    hours, minutes, seconds = text.split(":")
    return json.dumps(text), (int(hours) * 3600 + int(minutes) * 60) * 10**9 + int(Decimal(seconds) * 10**9)


def _instant(text: str) -> Written:
    """Return an instant; Python's has no nanoseconds."""
    whole, _, digits = text.partition(".")
    seconds = (datetime.fromisoformat(f"{whole}+00:00") - EPOCH) // timedelta(seconds=1)
    return json.dumps(f"{text}Z"), seconds * 10**9 + int(digits.ljust(9, "0"))


_INSTANTS: Final = ["1970-01-01T00:00:00", "1969-12-31T23:59:59", "0001-01-01T00:00:00", "9999-12-31T23:59:59"]
_CALENDARS: Final = ["1582-10-04T05:00:00", "1582-10-10T05:00:00", "1582-10-15T05:00:00", "1883-11-18T12:00:00"]
"""Before, in and after the days that the Julian calendar has not, and when time zones began."""
_BEFORE: Final = ["1969-12-31T23:59:58", "1965-03-01T00:00:00", "1900-01-01T00:00:00"]
"""Before 1970, where readers may take fractions for those of the next second."""


def _instants(fractions: Sequence[str], *whole: str) -> list[Written]:
    return [_instant(text + fraction) for text in whole for fraction in ("", *fractions)]


LEAVES: Final[Mapping[str, Sequence[Written]]] = {
    "bool": [("true", True), ("false", False)],
    "int8": _integers(8),
    "int16": _integers(16),
    "int32": _integers(32),
    "int64": _integers(64),
    "float32": _floats(np.float32, "0.1", "-0.0", "3.4028234663852886e38", "1e-45"),
    "float64": _floats(np.float64, "0.1", "-0.0", "1.7976931348623157e308", "5e-324"),
    "decimal(1,0)": _decimals("7", "-9", "0"),
    "decimal(10,2)": _decimals("99999999.99", "-0.01", "5.00", "0.00"),
    "decimal(18,18)": _decimals("0.999999999999999999", "-0.000000000000000001"),
    "decimal(38,0)": _decimals("9" * 38, "-" + "9" * 38, "1"),
    "decimal(38,38)": _decimals("0." + "9" * 38, "-0." + "9" * 38),
    "string": [_text(one) for one in ("", "a", "\u00e4\u20ac\U0001f600", 'line\nbreak "\\\u0000', "x" * 300)],
    "binary[base64]": [_binary(one) for one in (b"", b"\x00", b"\xff\xfe", bytes(range(256)))],
    "date": [_date(one.partition("T")[0]) for one in (*_INSTANTS, *_CALENDARS)],
    "time[ms]": [_time(one) for one in ("00:00:00.000", "05:00:00.001", "23:59:59.999")],
    "time[us]": [_time(one) for one in ("00:00:00.000000", "05:00:00.000001", "23:59:59.999999")],
    "timestamp[s]": _instants([], *_INSTANTS, *_CALENDARS, *_BEFORE),
    "timestamp[ms]": _instants([], *_INSTANTS, *_CALENDARS) + _instants([".001", ".999"], *_BEFORE),
    "timestamp[us]": _instants([], *_INSTANTS, *_CALENDARS) + _instants([".000001", ".999999"], *_BEFORE),
    "timestamp[ns]": _instants([".000000001", ".999999999"], *_INSTANTS[:1], *_BEFORE),
    "json": [('{ "b": 1.50 }', '{"b":1.50}'), ("[null, 1]", "[null,1]")],
}
"""By type: values that are hard for writers or readers."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands in a shape."""

    number: int


_A: Final = _Place(0)
_B: Final = _Place(1)
SHAPES: Final[Mapping[str, tuple[str, Sequence[Any]]]] = {
    "plain": ("{}", [_A, None]),
    "pair": ("struct<a: {0}, b: {0} not null>", [{"a": _A, "b": _B}, {"a": None, "b": _A}, None]),
    "deep": ("struct<s: struct<a: {}>>", [{"s": {"a": _A}}, {"s": {"a": None}}, {"s": None}, None]),
    "items": ("list<{}>", [[_A, None, _B], [], None, [_A]]),
    "required": ("list<{} not null>", [[_A, _B], [], None]),
    "matrix": ("list<list<{}>>", [[[_A], [], None, [None, _B]], [], None]),
    "rows": ("list<struct<a: {}>>", [[{"a": _A}, None, {"a": None}], [], None]),
    "named": ("map<string, {}>", [{"x": _A, "y": None}, {}, None, {"": _B}]),
    "lists": ("map<string, list<{}>>", [{"x": [_A, None], "y": None, "z": []}, {}, None]),
    "maps": ("list<map<string, {}>>", [[{"k": _A}, None, {}, {"k": None}], [], None]),
}
"""By name: the type around a type, and values around values: nulls at each depth, empty lists and maps."""


@dataclass(frozen=True, slots=True)
class Column:
    """One type in one shape."""

    shape: str
    leaf: str

    @property
    def name(self) -> str:
        return f"{self.shape}_{''.join(one if one.isalnum() else '_' for one in self.leaf)}".rstrip("_")

    @property
    def type(self) -> str:
        return SHAPES[self.shape][0].format(self.leaf)

    def value(self, row: int) -> Written:
        """Return what stands in a row."""
        shapes, values = SHAPES[self.shape][1], LEAVES[self.leaf]
        first = row // len(shapes)
        return _filled(shapes[row % len(shapes)], [values[(first + step) % len(values)] for step in (0, 1)])


def columns(leaves: Sequence[str] = tuple(LEAVES)) -> list[Column]:
    """Return all columns of some types."""
    return [Column(shape, leaf) for leaf in leaves for shape in SHAPES]


def documents(chosen: Sequence[Column]) -> list[bytes]:
    """Return the rows as JSON."""
    return [
        ("{" + ",".join(f'"{one.name}":{one.value(row)[0]}' for one in chosen) + "}").encode() for row in range(ROWS)
    ]


def plain_rows(chosen: Sequence[Column], leaf: Callable[[str, Any], Any] = lambda _, value: value) -> list[Any]:
    """Return the rows as readers must give them; `leaf`: what a reader has for a value of a type."""
    return [{one.name: mapped(one.value(row)[1], one, leaf) for one in chosen} for row in range(ROWS)]


def mapped(value: Any, column: Column, leaf: Callable[[str, Any], Any]) -> Any:
    """Return a value of a column with other leaves."""
    if isinstance(value, dict):
        return {name: mapped(one, column, leaf) for name, one in value.items()}
    if isinstance(value, list):
        return [mapped(one, column, leaf) for one in value]
    return None if value is None else leaf(column.leaf, value)


def _filled(shape: Any, values: Sequence[Written]) -> Written:
    if isinstance(shape, _Place):
        return values[shape.number]
    if isinstance(shape, dict):
        of = {name: _filled(one, values) for name, one in shape.items()}
        text = ", ".join(f'"{name}": {one[0]}' for name, one in of.items())
        return f"{{{text}}}", {name: one[1] for name, one in of.items()}
    if isinstance(shape, list):
        items = [_filled(one, values) for one in shape]
        return f"[{', '.join(one[0] for one in items)}]", [one[1] for one in items]
    return "null", None
