"""The types of columns, each by one of its kind."""

from collections.abc import Mapping
from typing import Final

from logpersister.schemas.types import Decimal, ListOf, MapOf, Struct, Type
from logpersister.values.field import FieldSpec
from logpersister.values.row_schema import RowSchema

TYPES: Final[Mapping[str, str]] = {
    **{
        one: one
        for one in (
            "bool", "int8", "int16", "int32", "int64", "float32", "float64", "decimal(p,s)", "string",
            "binary[base64]", "date", "time[ms]", "time[us]", "timestamp[s]", "timestamp[ms]", "timestamp[us]",
            "timestamp[ns]", "json", "struct<a: T>", "list<T>", "map<string, T>",
        )
    },
    "decimal(p,s)": "decimal(12,2)",
    "struct<a: T>": "struct<a: string>",
    "list<T>": "list<string>",
    "map<string, T>": "map<string, string>",
}  # fmt: skip
"""What tables call a type, and one of the kind."""


def named(type_: Type) -> str:
    """Return what tables call a type."""
    match type_:
        case Decimal():
            return "decimal(p,s)"
        case Struct():
            return "struct<a: T>"
        case ListOf():
            return "list<T>"
        case MapOf():
            return "map<string, T>"
    return str(type_)


def column(type_: str, notation: str | None = None) -> RowSchema:
    """Return a schema of one column ``a``."""
    return RowSchema(fields=(FieldSpec.model_validate({"name": "a", "type": type_, "format": notation}),))
