"""Translates a JSON Schema into columns that fit the objects that it describes. Pure; docs/schemas.md has the table."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from logpersister.schemas.errors import NoColumnsError
from logpersister.schemas.json_text import read_json
from logpersister.schemas.types import (
    MOST_DIGITS,
    MOST_NESTED,
    Binary,
    Decimal,
    ListOf,
    MapOf,
    Member,
    Plain,
    Struct,
    Timestamp,
    Type,
)
from logpersister.schemas.written_column import (
    REFUSED,
    NoColumnError,
    TypeWalk,
    WrittenColumn,
)
from logpersister.values.json.documents import Documents, Placed
from logpersister.values.json.shape import Shape, shape_of

ANYTHING: Final = Plain("json")
_TEXTS: Final[Mapping[str, Type]] = {"date": Plain("date"), "date-time": Timestamp("us")}
"""Types of text by ``format``. A ``time`` has an offset (RFC 3339), which no column of times of day has room for."""

_BOUNDS: Final[Mapping[Type, str]] = {
    Plain("float64"): f"a whole number that no float64 is (from 9007199254740993 on) {REFUSED}",
    Plain("int64"): f"a whole number beyond 64 bits {REFUSED}; with a bound beyond them it is a decimal",
    Timestamp("us"): "digits of a second behind the sixth are cut off",
}
"""What JSON Schema allows and columns of a type do not hold."""

_Found = tuple[Type, bool]
"""A type, and whether values of it may be null."""


def columns_of(text: str, *, as_reader: bool = False) -> list[WrittenColumn]:
    """Return a column for each property of the objects that a schema describes. Raises `NoColumnsError`.

    Args:
        text: the schema, with all that it refers to.
        as_reader: whether what a schema requires is required. Otherwise nothing is, so that later writers may leave a
            property out.
    """
    documents = Documents(read_json(text))
    try:
        shape = shape_of(documents.root, documents)
        if shape.types is not None and "object" not in shape.types:
            raise NoColumnsError("its values are no objects")
        if not shape.properties:
            raise NoColumnsError("it names no properties")
        types = _Types(documents, as_reader=as_reader)
        return [types.column(name, one, shape) for name, one in shape.properties.items()]
    except RecursionError:
        raise NoColumnsError("it is nested too deep") from None


class _Types:
    """The types of columns."""

    def __init__(self, documents: Documents, *, as_reader: bool) -> None:
        self._documents = documents
        self._as_reader = as_reader
        self._walk = TypeWalk()

    def column(self, name: str, placed: Placed | None, around: Shape) -> WrittenColumn:
        self._walk.begin(name)
        try:
            member = self._member(name, placed, around, 1, around.nodes)
        except NoColumnError:  # of too many parts
            member = Member(name, ANYTHING, required=False)
        return WrittenColumn(name, member.type, str(member.type), member.required, remarks=self._walk.remarks)

    def _member(self, name: str, placed: Placed | None, around: Shape, depth: int, above: tuple[int, ...]) -> Member:
        type_, is_nullable = (ANYTHING, True) if placed is None else self._value(placed, depth, above)
        return Member(name, type_, self._as_reader and name in around.required and not is_nullable)

    def _value(self, placed: Placed, depth: int, above: tuple[int, ...]) -> _Found:
        """Return the type of a column. Raises `NoColumnError` where there are too many."""
        self._walk.add(depth)
        shape = shape_of(placed, self._documents)
        if not set(shape.nodes).isdisjoint(above):
            return ANYTHING, True  # it has itself in it
        above = (*above, *shape.nodes)
        if shape.choices and not _decides(shape):
            return self._chosen(shape, depth, above)
        types, is_nullable = _types_of(shape)
        return self._of_type(types, shape, depth, above), is_nullable

    def _chosen(self, shape: Shape, depth: int, above: tuple[int, ...]) -> _Found:
        """Return the one type that all choices have, null aside."""
        found: list[_Found] = []
        for choice in (one for choices in shape.choices for one in choices):
            inner = shape_of(choice, self._documents)
            if inner.types == frozenset({"null"}) or inner.values == [None]:
                found.append((ANYTHING, True))
                continue
            type_, is_nullable = self._value(choice, depth, above)
            if not is_nullable:
                found.append((type_, False))
            else:
                found += [(type_, False), (ANYTHING, True)]
        kinds = {type_ for type_, is_null in found if not is_null}
        is_nullable = any(is_null for _, is_null in found) and (shape.types is None or "null" in shape.types)
        if kinds == {Plain("int64"), Plain("float64")}:
            kinds = {Plain("float64")}
        if len(kinds) > 1 and all(map(_is_text, kinds)):
            kinds = {Plain("string")}
        if len(kinds) != 1 or (shape.types is not None and not isinstance(next(iter(kinds)), Struct | ListOf | MapOf)):
            return ANYTHING, is_nullable
        return kinds.pop(), is_nullable

    def _of_type(self, types: frozenset[str], shape: Shape, depth: int, above: tuple[int, ...]) -> Type:
        match sorted(types):
            case ["array"]:
                return self._list(shape, depth, above)
            case ["object"]:
                return self._object(shape, depth, above)
            case scalar:
                found = _scalar(scalar, shape)
                if found in _BOUNDS:
                    self._walk.note(_BOUNDS[found])
                return found

    def _list(self, shape: Shape, depth: int, above: tuple[int, ...]) -> Type:
        if shape.is_tuple or depth == MOST_NESTED:
            return ANYTHING
        if shape.items is None:
            return ListOf(ANYTHING, required=False)
        items = shape.items
        item, is_nullable = self._walk.inside("[]", lambda: self._value(items, depth + 1, above))
        return ListOf(item, self._as_reader and not is_nullable)

    def _object(self, shape: Shape, depth: int, above: tuple[int, ...]) -> Type:
        if depth == MOST_NESTED or not (shape.properties or shape.others):
            return ANYTHING
        if shape.properties or shape.others is None:
            return self._struct(shape, depth, above)
        others = shape.others
        value, is_nullable = self._walk.inside("{}", lambda: self._value(others, depth + 1, above))
        return MapOf(value, self._as_reader and not is_nullable)

    def _struct(self, shape: Shape, depth: int, above: tuple[int, ...]) -> Type:
        make = partial(self._member, around=shape, depth=depth + 1, above=above)
        return self._walk.struct((name, partial(make, name, placed)) for name, placed in shape.properties.items())


def _decides(shape: Shape) -> bool:
    """Whether the form of values is known without the choices: these only say more of the same."""
    if shape.types is None:
        return shape.tells
    return bool(shape.properties) or shape.items is not None or shape.types.isdisjoint({"object", "array"})


def _types_of(shape: Shape) -> tuple[frozenset[str], bool]:
    if shape.types is not None:
        return shape.types - {"null"}, "null" in shape.types
    if shape.values is not None:
        found = {_type_of(one) for one in shape.values}
        return frozenset(found - {"null"}), "null" in found
    # Where no type is named, null is allowed, too.
    if shape.properties or shape.others is not None:
        return frozenset({"object"}), True
    if shape.items is not None or shape.is_tuple:
        return frozenset({"array"}), True
    return frozenset(), True


def _type_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
    return "array" if isinstance(value, list) else "object"


def _scalar(types: Sequence[str], shape: Shape) -> Type:
    match types:
        case ["boolean"]:
            return Plain("bool")
        case ["integer"]:
            return _whole(shape)
        case ["number"] | ["integer", "number"]:
            return Plain("float64")
        case ["string"]:
            return Binary() if shape.encoding == "base64" else _TEXTS.get(shape.format or "", Plain("string"))
    return ANYTHING


def _whole(shape: Shape) -> Type:
    named = [*shape.bounds, *(one for one in shape.values or () if isinstance(one, int))]
    if not all(map(math.isfinite, named)):
        return ANYTHING
    if all(-(2**63) <= one < 2**63 for one in named):
        return Plain("int64")
    digits = max(len(str(abs(int(one)))) for one in named)
    return Decimal(digits, 0) if digits <= MOST_DIGITS else ANYTHING


def _is_text(type_: Type) -> bool:
    return type_ in (Plain("string"), Plain("date"), Timestamp("us"), Binary())
