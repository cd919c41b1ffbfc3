"""Translates a Thrift struct into columns that fit all that it can hold. Pure; docs/schemas.md has the table."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from logpersister.schemas.errors import NoColumnsError
from logpersister.schemas.types import (
    MOST_COLUMNS,
    Binary,
    ListOf,
    MapOf,
    Member,
    Plain,
    Type,
)
from logpersister.schemas.written_column import (
    TOO_MANY,
    NoColumnError,
    TypeWalk,
    WrittenColumn,
)
from logpersister.values.thrift.schema import Field, Kind, Schema, read_schema

KEYS: Final = frozenset({"bool", "i8", "i16", "i32", "i64", "string", "binary", "enum"})
"""Kinds that keys of maps become texts of."""
_TYPES: Final[Mapping[str, Type]] = {
    "bool": Plain("bool"),
    "i8": Plain("int8"),
    "i16": Plain("int16"),
    "i32": Plain("int32"),
    "i64": Plain("int64"),
    "double": Plain("float64"),
    "string": Plain("string"),
    "binary": Binary(),
    "enum": Plain("string"),
}


def columns_of(idl: str, struct: str | None) -> list[WrittenColumn]:
    """Return a column for each field of a struct. Raises SchemaTextError.

    Args:
        idl: the schema, as `read_schema` takes it.
        struct: its name; None: the only one.
    """
    schema = read_schema(idl)
    types = _Types(schema)
    name = schema.struct(struct)
    if len(schema.structs[name]) > MOST_COLUMNS:
        raise NoColumnsError(TOO_MANY)
    return [types.column(one, name) for one in schema.structs[name]]


class _Types:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._walk = TypeWalk()

    def column(self, one: Field, struct: str) -> WrittenColumn:
        return self._walk.column(one.name, str(one.kind), partial(self._member, one, 1, (struct,)))

    def _member(self, one: Field, depth: int, above: tuple[str, ...]) -> Member:
        return Member(one.name, self._value(one.kind, depth, above), one.requirement == "required")

    def _value(self, kind: Kind, depth: int, above: tuple[str, ...]) -> Type:
        self._walk.add(depth)
        match kind.word:
            case "struct":
                return self._struct(kind.of, depth, above)
            case "list" | "set":
                item = self._walk.inside("[]", lambda: self._value(kind.inner[0], depth + 1, above))
                return ListOf(item, required=True)
            case "map":
                key, value = kind.inner
                if key.word not in KEYS:
                    raise NoColumnError(f"it is a map whose keys are {key}, which cannot become texts")
                return MapOf(self._walk.inside("{}", lambda: self._value(value, depth + 1, above)), required=True)
            case word if word in _TYPES:
                return _TYPES[word]
        raise NoColumnError(f"it is a {kind}")

    def _struct(self, name: str, depth: int, above: tuple[str, ...]) -> Type:
        if name in above:
            raise NoColumnError(f"{name} has itself in it")
        fields = self._schema.structs[name]
        return self._walk.struct((one.name, partial(self._member, one, depth + 1, (*above, name))) for one in fields)
