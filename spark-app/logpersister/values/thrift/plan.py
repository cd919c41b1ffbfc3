"""Maps fields of a Thrift struct to columns: fields are found by their names here, and by numbers in values.

Pure; docs/schemas.md has the table of what can become what.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from logpersister.forms.notation import RFC3339, epoch_unit
from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.types import Binary, Decimal, ListOf, MapOf, Member, Plain, Struct, Time, Timestamp, Type
from logpersister.values.thrift.columns import KEYS
from logpersister.values.thrift.schema import INTEGERS, Kind, Schema, read_schema

_TEXTS: Final = ("string", "binary")
_SMALL: Final = ("i8", "i16", "i32")


def plan_of(idl: str, struct: str | None, columns: Iterable[Member], formats: Mapping[str, str | None]) -> str:
    """Return what becomes of each field that a column has, as JSON for the native parser. Raises SchemaTextError.

    Args:
        idl: the schema, as `read_schema` takes it.
        struct: the one that values are; None: the only one.
        columns: what they become, in this order.
        formats: by column, the notation of its timestamps; None: ``rfc3339``.
    """
    schema = read_schema(idl)
    name = schema.struct(struct)
    found: list[Any] = []
    for column in columns:
        planner = _Planner(schema, formats.get(column.name) or RFC3339)
        found += planner.members(name, (column,), "")
    return json.dumps(found, separators=(",", ":"))


class UnfitColumnError(SchemaTextError):
    """A column that no field of the struct can become."""

    def __init__(self, path: str, told: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(f"{path}: {told}")
        self.path = path
        """The column, or the field in it."""
        self.told = told
        self.known = known
        """The fields that the struct has, where there is none of that name."""


class _Planner:
    """Planner of one column."""

    def __init__(self, schema: Schema, notation: str) -> None:
        self._schema = schema
        self._notation = notation

    def members(self, struct: str, members: Iterable[Member], path: str) -> list[Any]:
        fields = self._schema.fields(struct)
        found: list[Any] = []
        for member in members:
            inner = f"{path}.{member.name}" if path else member.name
            field = fields.get(member.name)
            if field is None:
                raise UnfitColumnError(inner, f"the struct {struct} has no such field", tuple(fields))
            kind = self._kind(field.kind, member.type, inner)
            default = None if field.requirement == "required" else field.default
            found.append({"number": field.number, "kind": kind, "default": default})
        return found

    def _kind(self, kind: Kind, type_: Type, path: str) -> Any:
        match kind.word, type_:
            case "struct", Struct(members):
                return {"struct": self.members(kind.of, members, path)}
            case "list" | "set" as word, ListOf(item):
                return {word: self._kind(kind.inner[0], item, f"{path}[]")}
            case "map", MapOf(value) if kind.inner[0].word in KEYS:
                key, inner = kind.inner
                return {"map": [self._scalar(key), self._kind(inner, value, f"{path}{{}}")]}
        if not _fits(kind, type_, self._notation):
            raise UnfitColumnError(path, f"it is {kind} there, which cannot become {type_}")
        return self._scalar(kind)

    def _scalar(self, kind: Kind) -> Any:
        if kind.word != "enum":
            return kind.word
        return {"enum": {str(number): name for number, name in self._schema.enums[kind.of].items()}}


def _fits(kind: Kind, type_: Type, notation: str) -> bool:  # noqa: PLR0911 - one for each type
    match type_:
        case Plain("bool"):
            return kind.word == "bool"
        case Plain("int32" | "int64") if kind.word == "enum":
            return True
        case Plain("int8" | "int16" | "int32" | "int64"):
            return kind.word in INTEGERS
        case Plain("float64"):
            return kind.word == "double" or kind.word in _SMALL
        case Plain("string"):
            return kind.word in (*_TEXTS, "enum")
        case Binary():
            return kind.word in _TEXTS
        case Timestamp() if epoch_unit(notation) is not None:
            return kind.word in INTEGERS
        case Decimal():
            return kind.word in INTEGERS or kind.word == "string"
        case Plain("date") | Time() | Timestamp():
            return kind.word == "string"
    return False
