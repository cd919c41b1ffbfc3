"""Rows as docs/schemas.md says them, from what another project's library has read of a value.

Scalars are those of the judge of JSON. All faults of a value are found, not only the first: so
a parser can be asked whether what it refuses is refused for a reason that the value has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal as Number
from fractions import Fraction
from typing import Any, Final, NoReturn

import numpy as np

from logpersister.schemas.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Time, Timestamp, Type
from logpersister.values.row_schema import RowSchema
from logpersister.verify.comparison import same
from tests.judges.json_values import MOST_NESTED, date_of, decimal_of, instant_in_range, rfc3339, single_of, time_of
from tests.judges.refusal import RefusalError
from tests.unit.records.judging import Judged

Fault = tuple[str, str | None]
"""A reason of refusal, and the path of the field."""

_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY: Final = 86_400


class Pairs(list[tuple[Any, Any]]):
    """An object: names and values, of which some may be there twice."""


@dataclass(frozen=True)
class Instant:
    """A point in time that its writer calls so, whatever the column says of its notation."""

    nanoseconds: int


@dataclass(frozen=True)
class Clock:
    """A time of day that its writer calls so."""

    nanoseconds: int


@dataclass(frozen=True)
class Day:
    """A date that its writer calls so, in days since 1970."""

    number: int


def _refuse(reason: str) -> NoReturn:
    raise RefusalError(reason)


@dataclass
class Reading:
    """Makes rows of values, and says what is wrong with those that become none."""

    faults: set[Fault] = field(default_factory=set)

    def row(self, schema: RowSchema, value: Any) -> Any:
        """Return the row of a value; if it has none, `faults` are why."""
        if not isinstance(value, Pairs):
            self.faults.add(("not_an_object", None))
            return None
        formats = {one.name: one.format or "rfc3339" for one in schema.columns}
        return self._struct(value, members_of(schema), formats, "")

    def _struct(self, value: Pairs, members: Sequence[Member], formats: Mapping[str, str] | str, path: str) -> Any:
        row = {}
        for one in members:
            inner = f"{path}.{one.name}" if path else one.name
            found = [content for name, content in value if name == one.name and isinstance(name, str)]
            if len(found) > 1:
                self.faults.add(("duplicate", inner))
            notation = formats if isinstance(formats, str) else formats[one.name]
            for content in found or [None]:
                row[one.name] = self._item(content, one.type, notation, inner, required=one.required)
        return row

    def _item(self, value: Any, type_: Type, notation: str, path: str, *, required: bool) -> Any:
        if value is None:
            if required:
                self.faults.add(("missing", path))
            return None
        match type_:
            case Struct(members) if isinstance(value, Pairs):
                return self._struct(value, members, notation, path)
            case ListOf(item, needed) if isinstance(value, list) and not isinstance(value, Pairs):
                return [self._item(one, item, notation, f"{path}[]", required=needed) for one in value]
            case MapOf(of, needed) if isinstance(value, Pairs):
                below = f"{path}{{}}"
                entries = [
                    (
                        self._leaf(key, Plain("string"), notation, below),
                        self._item(one, of, notation, below, required=needed),
                    )
                    for key, one in value
                ]
                if len({key for key, _ in entries}) < len(entries):
                    self.faults.add(("duplicate", below))
                return _in_order(entries)
            case _:
                return self._leaf(value, type_, notation, path)

    def _leaf(self, value: Any, type_: Type, notation: str, path: str) -> Any:
        try:
            return self._column(value, type_, notation)
        except RefusalError as error:
            self.faults.add((str(error), path))
            return None

    def _column(self, value: Any, type_: Type, notation: str) -> Any:  # noqa: PLR0911 - one for each type
        match type_:
            case Plain("bool") if isinstance(value, bool):
                return value
            case Plain("string"):
                return self._text(value)
            case Plain("int8" | "int16" | "int32" | "int64" as name):
                return _bounded(_whole(value), int(name.removeprefix("int")))
            case Plain("float64" | "float32" as name):
                found = _real(value, name)
                if isinstance(value, int) and found != value:
                    _refuse("overflow")
                return found
            case Binary():
                return self._bytes(value)
            case Plain("date"):
                return _date(value)
            case Time(unit):
                return _clock(value) * _PER_SECOND[unit] // 10**9
            case Timestamp(unit):
                return _bounded(_instant(value, notation) * _PER_SECOND[unit] // 10**9, 64)
            case Decimal(precision, scale):
                return _decimal(value, precision, scale)
            case _:
                return _refuse("wrong_type")

    def _text(self, value: Any) -> str:
        if isinstance(value, bytes):
            value = value.decode(errors="surrogateescape")
        if not isinstance(value, str):
            _refuse("wrong_type")
        try:
            value.encode()
        except UnicodeEncodeError:
            _refuse("not_utf8")
        return value

    def _bytes(self, value: Any) -> bytes:
        if isinstance(value, str):
            return value.encode(errors="surrogateescape")
        return value if isinstance(value, bytes) else _refuse("wrong_type")


def _in_order(entries: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the entries of a map in an order of their own: libraries have others, where a default is a map."""
    return sorted(entries, key=lambda entry: str(entry[0]))


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else _refuse("wrong_type")


def _bounded(number: int, bits: int) -> int:
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else _refuse("overflow")


def _real(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Number):
        _refuse("wrong_type")
    if isinstance(value, float) and (name == "float64" or not np.isfinite(value)):
        return value  # where there are such, they may be NaN or infinite
    exact = Fraction(value)
    if name == "float32":
        return single_of(exact)
    return float(exact) if abs(exact) < 2**1024 - 2**970 else _refuse("overflow")


def _date(value: Any) -> int:
    return instant_in_range(value.number * _DAY) // _DAY if isinstance(value, Day) else date_of(_words(value))


def _clock(value: Any) -> int:
    if isinstance(value, Clock):
        return value.nanoseconds if 0 <= value.nanoseconds < _DAY * 10**9 else _refuse("overflow")
    return time_of(_words(value), "ns")


def _instant(value: Any, notation: str) -> int:
    """Return nanoseconds since 1970."""
    if isinstance(value, Instant):
        found = value.nanoseconds
    elif notation != "rfc3339":
        found = _bounded(_whole(value), 64) * 10**9 // _PER_SECOND[notation[6:-1]]
    else:
        seconds, nanoseconds = rfc3339(_words(value))
        found = seconds * 10**9 + nanoseconds
    instant_in_range(found // 10**9)
    return found


def _decimal(value: Any, precision: int, scale: int) -> Number:
    if isinstance(value, bool) or not isinstance(value, str | int | Number):
        _refuse("wrong_type")
    return decimal_of(str(value), precision, scale)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else _refuse("wrong_type")


def depth_of(value: Any) -> int:
    """Return how many lists and objects are in each other."""
    if isinstance(value, tuple):
        return max(map(depth_of, value))
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


def members_of(schema: RowSchema) -> tuple[Member, ...]:
    return tuple(Member(one.name, one.type, one.required) for one in schema.columns)


def _ordered(value: Any, type_: Type) -> Any:
    """Return what a column has, with the entries of maps in an order of their own."""
    match type_:
        case _ if value is None:
            return None
        case Struct(members):
            return {one.name: _ordered(value[one.name], one.type) for one in members}
        case ListOf(item):
            return [_ordered(one, item) for one in value]
        case MapOf(of):
            return _in_order([(key, _ordered(one, of)) for key, one in value])
        case _:
            return value


def has_known_times(schema: RowSchema) -> bool:
    """Return whether `Reading` knows the notations of all timestamps; test_instants.py compares the others."""
    return all(one.format in (None, "rfc3339") or one.format.startswith("epoch[") for one in schema.columns)


def assert_rows(ours: Judged, schema: RowSchema, read: Sequence[Any]) -> None:
    """Compare rows with values of another library; what is refused must be refused for what is wrong with its value.

    Args:
        ours: what a parser made of them, of which none is null.
        schema: of the rows, with known times (`has_known_times`).
        read: values; `RefusalError`: there is none, for this reason.
    """
    rows, refused = iter(ours[0]), {place: (reason, path) for place, reason, path in ours[1]}
    for place, value in enumerate(read):
        reading = Reading()
        if isinstance(value, RefusalError):
            assert place in refused, (place, value)
            assert refused[place][0] == str(value)
            continue
        row = reading.row(schema, value)
        if depth_of(value) > MOST_NESTED:
            reading.faults = {("too_deep", None)}
        if place in refused:
            assert refused[place] in reading.faults, (value, refused[place], reading.faults)
            continue
        assert not reading.faults, (value, reading.faults)
        found = _ordered(next(rows), Struct(members_of(schema)))
        assert same(found, row), (value, found, row)
    assert next(rows, None) is None
