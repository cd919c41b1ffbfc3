"""Infers schema fields from sampled JSON objects. Pure.

A sample proves nothing about later values. So nothing is called required, and where a sample is of two minds the type
is the wider one, at last ``json``, which takes any value. What fits a type says docs/schemas.md.
"""

import json
import re
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Final

from logpersister.forms.notation import Notation
from logpersister.schemas.types import (
    MOST_COLUMNS,
    MOST_DIGITS,
    MOST_NESTED,
    NAME,
    Decimal,
    ListOf,
    MapOf,
    Member,
    Plain,
    Struct,
    Timestamp,
    Type,
    leaves,
)
from logpersister.schemas.written_column import unusable_name
from logpersister.values.kind import MOST_FIELDS

MOST_NAMES: Final = 64
"""Most names of an object that is taken for a struct without another look."""
SELDOM: Final = 0.2
"""Share of objects that have a name, on average; below it, and with more names than `MOST_NAMES`, they are keys."""
_DEEPEST: Final = MOST_NESTED - 2
"""Inside of a field; what is nested deeper is ``json``."""

_NAME: Final = re.compile(NAME)
_INSTANT: Final = re.compile(
    r"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
    r"(?:\.(\d{1,9}))?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?",
    re.ASCII,
)
_DATE: Final = re.compile(r"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])", re.ASCII)
_INT64: Final = range(-(2**63), 2**63)
_EPOCHS: "Final[Mapping[Notation, int]]" = {"epoch[s]": 1, "epoch[ms]": 10**3, "epoch[us]": 10**6, "epoch[ns]": 10**9}
_EXACT_IN_DOUBLES: Final = 2**53
_FIRST_EPOCH, _LAST_EPOCH = 946_684_800, 4_102_444_800
"""Seconds of 2000 and of 2100: whole numbers between them, in one of the units, are probably times."""


class _Odd:
    """A number that no type of number takes."""


_ODD: Final = _Odd()
_LONGEST_NUMBER: Final = 64
"""Characters of a whole number that is looked at."""


@dataclass(slots=True)
class Values:
    """Statistics of the values at one place."""

    kinds: Counter[str] = field(default_factory=Counter)
    """Number of values by kind (`_KINDS`)."""
    least: int | None = None
    largest: int | None = None
    """Least and largest whole number; None: there are none."""
    instants: int = 0
    days: int = 0
    """Number of texts that are an instant, or a day."""
    finest: int = 0
    """Digits behind the second that the instants have."""
    members: "dict[str, Values]" = field(default_factory=dict)
    """Members of the objects, by name."""
    items: "Values | None" = None
    """Items of the lists, all together."""

    @property
    def count(self) -> int:
        return self.kinds.total()

    @property
    def present(self) -> int:
        """Number of values that are not null."""
        return self.count - self.kinds["null"]

    def add(self, value: Any) -> None:
        """Look at one more, as `json` reads it."""
        self.kinds[_KINDS[type(value)]] += 1
        if type(value) is int:
            self._extend(value, value)
        elif isinstance(value, str):
            self._add_text(value)
        elif isinstance(value, list):
            self.items = self.items or Values()
            for item in value:
                self.items.add(item)
        elif isinstance(value, dict):
            for name, member in value.items():
                self.members.setdefault(name, Values()).add(member)

    def join(self, other: "Values") -> None:
        """Take over what was seen at another place, as if it had been here."""
        self.kinds += other.kinds
        self._extend(other.least, other.largest)
        self.instants += other.instants
        self.days += other.days
        self.finest = max(self.finest, other.finest)
        if other.items is not None:
            self.items = self.items or Values()
            self.items.join(other.items)
        for name, member in other.members.items():
            self.members.setdefault(name, Values()).join(member)

    def _extend(self, least: int | None, largest: int | None) -> None:
        self.least = min((one for one in (self.least, least) if one is not None), default=None)
        self.largest = max((one for one in (self.largest, largest) if one is not None), default=None)

    def _add_text(self, value: str) -> None:
        if found := _INSTANT.fullmatch(value):
            self.instants += _is_a_day(value)
            self.finest = max(self.finest, len(found[1] or ""))
        elif _DATE.fullmatch(value):
            self.days += _is_a_day(value)


_KINDS: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "bool",
    int: "whole number",
    float: "number",
    _Odd: "huge number",
    str: "text",
    list: "list",
    dict: "object",
}


def _is_a_day(text: str) -> bool:
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    return day <= monthrange(year, month)[1]


class Sample:
    """Values of a topic, looked at one by one."""

    def __init__(self) -> None:
        self._seen = Values()

    def add(self, value: bytes) -> None:
        """Look at one value, which is a JSON object."""
        self._seen.add(json.loads(value, parse_int=_whole_number, parse_float=_number))

    def fields(self) -> "list[InferredField]":
        """Return the fields in the order in which they came."""
        first: dict[str, str] = {}
        for name in self._seen.members:
            first.setdefault(name.lower(), name)
        found = [self._field(name, values, first[name.lower()]) for name, values in self._seen.members.items()]
        usable = [place for place, one in enumerate(found) if one.problem is None]
        for surplus in sorted(usable, key=lambda place: -found[place].share)[MOST_FIELDS:]:
            found[surplus] = replace(found[surplus], problem=f"a schema has at most {MOST_FIELDS} fields")
        return _narrowed(found)

    def _field(self, name: str, values: Values, first: str) -> "InferredField":
        type_ = type_of(values)
        share = values.present / self._seen.count
        return InferredField(name, type_, share, _problem(name, first), _remark(values, type_))


def _whole_number(text: str) -> int | _Odd:
    return int(text) if len(text) <= _LONGEST_NUMBER else _ODD


def _number(text: str) -> float | _Odd:
    return value if isfinite(value := float(text)) else _ODD


@dataclass(frozen=True, slots=True)
class InferredField:
    """A field of the schema, as far as a sample can tell."""

    name: str
    type: Type
    share: float
    """Share of values that have it, and not as null."""
    problem: str | None = None
    """Why it cannot be a column; None: it can."""
    remark: str = ""
    """Remark on the type, for people."""


def _problem(name: str, first: str) -> str | None:
    """Return why a field cannot be a column; ``first`` is the first one that has this name but for case."""
    problem = unusable_name(name)
    if problem is not None:
        return problem
    return None if first == name else f"differs from {first} in case only"


def _remark(values: Values, type_: Type) -> str:
    kinds = sorted(kind for kind in values.kinds if kind != "null")
    if not kinds:
        return "always null"
    if type_ == Plain("json") and len(kinds) > 1:
        return " and ".join(kinds)
    if kinds == ["whole number"] and (notation := _epoch(values)):
        return f"a time? then type timestamp[{notation[6:-1]}], format {notation}"
    return ""


def _epoch(values: Values) -> Notation | None:
    if values.least is None or values.largest is None:
        return None
    for notation, unit in _EPOCHS.items():
        if _FIRST_EPOCH * unit <= values.least and values.largest < _LAST_EPOCH * unit:
            return notation
    return None


def type_of(values: Values, depth: int = 0) -> Type:
    """Return the narrowest type that takes all of these values."""
    choose = _TYPES.get(frozenset(values.kinds.keys() - {"null"}))
    return Plain("json") if choose is None else choose(values, depth)


def _of_whole_numbers(values: Values, _: int) -> Type:
    ends = [one for one in (values.least, values.largest) if one is not None]
    if all(one in _INT64 for one in ends):
        return Plain("int64")
    return Decimal(MOST_DIGITS, 0) if all(abs(one) < 10**MOST_DIGITS for one in ends) else Plain("json")


def _of_numbers(values: Values, _: int) -> Type:
    ends = [one for one in (values.least, values.largest) if one is not None]
    return Plain("float64") if all(abs(one) <= _EXACT_IN_DOUBLES for one in ends) else Plain("json")


def _of_texts(values: Values, _: int) -> Type:
    if values.instants == values.kinds["text"]:
        return Timestamp("ms" if values.finest <= 3 else "us")  # Spark reads no nanoseconds
    return Plain("date") if values.days == values.kinds["text"] else Plain("string")


def _of_lists(values: Values, depth: int) -> Type:
    if depth >= _DEEPEST:
        return Plain("json")
    item = values.items
    return ListOf(Plain("json") if item is None else type_of(item, depth + 1), required=False)


def _of_objects(values: Values, depth: int) -> Type:
    if depth >= _DEEPEST:
        return Plain("json")
    members = values.members
    if not members or _are_keys(values):
        every = Values()
        for one in members.values():
            every.join(one)
        return MapOf(type_of(every, depth + 1), required=False)
    return Struct(tuple(Member(name, type_of(one, depth + 1), required=False) for name, one in members.items()))


_TYPES: Final[Mapping[frozenset[str], Callable[[Values, int], Type]]] = {
    frozenset({"bool"}): lambda _, __: Plain("bool"),
    frozenset({"whole number"}): _of_whole_numbers,
    frozenset({"number"}): _of_numbers,
    frozenset({"number", "whole number"}): _of_numbers,
    frozenset({"text"}): _of_texts,
    frozenset({"list"}): _of_lists,
    frozenset({"object"}): _of_objects,
}


def _are_keys(values: Values) -> bool:
    """Whether the names in objects are data: many that few objects have, or such that no column can have."""
    names = values.members
    if any(not _NAME.fullmatch(name) for name in names) or len({name.lower() for name in names}) < len(names):
        return True
    average = sum(one.count for one in names.values()) / len(names) / values.kinds["object"]
    return len(names) > MOST_NAMES and average < SELDOM


def _narrowed(fields: list[InferredField]) -> list[InferredField]:
    widths = [sum(1 for _ in leaves(one.type)) if one.problem is None else 0 for one in fields]
    while sum(widths) > MOST_COLUMNS:
        widest = widths.index(max(widths))
        remark = f"{widths[widest]:,} columns, and a schema has at most {MOST_COLUMNS:,}"
        fields[widest] = replace(fields[widest], type=Plain("json"), remark=remark)
        widths[widest] = 1
    return fields
