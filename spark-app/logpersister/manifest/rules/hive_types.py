"""Hive types of the columns of files, by format: the one table of these mappings (docs/tables.md). Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from logpersister.manifest.blocks.output import Format, OutputSpec
from logpersister.schemas.types import (
    KAFKA_PREFIX,
    Binary,
    Decimal,
    ListOf,
    MapOf,
    Member,
    Plain,
    Struct,
    Time,
    Timestamp,
    Type,
    parts,
)
from logpersister.values.row_schema import VALUE, RowSchema

_NAME: Final = re.compile(r"[A-Za-z0-9_]+(\[\]|\{\})*", re.ASCII)
"""Name in a path, with what is in a list or map of that name."""
_TEXT: Final = "string"
_PLAIN: Final[Mapping[str, str]] = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
    "string": _TEXT,
    "date": "date",
    "json": _TEXT,
}


@dataclass(frozen=True, slots=True)
class _Words:
    """Hive types of one format."""

    plain: Mapping[str, str]
    """Hive type per plain type; types that its SerDe cannot read are absent."""
    binary: str
    time: str | None
    """None: cannot be read."""
    instants: tuple[str, ...] | None
    """Units of timestamps that can be read; None: each is text."""


_WORDS: Final[Mapping[Format, _Words]] = {
    "parquet": _Words(_PLAIN, "binary", None, ("s", "ms", "us")),
    # Its SerDe has no number that is shorter than int, and takes microseconds for milliseconds.
    "avro": _Words({**_PLAIN, "int8": "int", "int16": "int"}, "binary", None, ("s", "ms")),
    # Spark has no nanoseconds, and Hive's instants in files would be other columns than those of Parquet.
    "orc": _Words(_PLAIN, "binary", None, ("s", "ms", "us")),
    # Its SerDe reads no RFC 3339, no base64, and no document as text.
    "jsonl": _Words({name: type_ for name, type_ in _PLAIN.items() if name != "json"}, _TEXT, _TEXT, None),
}
"""Words of formats with columns; the other formats have one column of text."""


KAFKA_TYPES: Final[Mapping[str, Type]] = {
    "topic": Plain("string"),
    "partition": Plain("int32"),
    "offset": Plain("int64"),
    "timestamp": Timestamp("ms"),
    "key": Binary(),
    "headers": ListOf(
        Struct((Member("key", Binary(), required=True), Member("value", Binary(), required=False))), required=True
    ),
}
"""Types of Kafka's own fields (`formats.file_columns`)."""


def hive_columns(output: OutputSpec, schema: RowSchema) -> tuple[tuple[str, str], ...]:
    """Return names and types of the columns of files, in lower case. Raises ValueError for what is refused."""
    if output.format not in _WORDS:
        return ((VALUE, _TEXT),)
    declared = [(one.name, one.type) for one in schema.columns]
    kafka = output.columns_of_kafka(has_schema=schema.has_columns)
    own = [(KAFKA_PREFIX + name, KAFKA_TYPES[name]) for name in kafka]
    return tuple((name.lower(), hive_type(type_, output.format)) for name, type_ in [*declared, *own])


def hive_type(type_: Type, file_format: Format) -> str:  # noqa: PLR0911  (one for each type)
    """Return a type in Hive's words. Raises ValueError for what `hive_refusal` refuses."""
    words = _WORDS[file_format]
    match type_:
        case Plain(name) if name in words.plain:
            return words.plain[name]
        case Binary():
            return words.binary
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Time() if words.time is not None:
            return words.time
        case Timestamp() if words.instants is None:
            return _TEXT
        case Timestamp(unit) if words.instants is not None and unit in words.instants:
            return "timestamp"
        case Struct(members):
            inner = ",".join(f"{one.name.lower()}:{hive_type(one.type, file_format)}" for one in members)
            return f"struct<{inner}>"
        case ListOf(item):
            return f"array<{hive_type(item, file_format)}>"
        case MapOf(value):
            return f"map<string,{hive_type(value, file_format)}>"
        case _:
            raise ValueError(f"a Hive table of {file_format} files has nothing for {type_}")


def hive_refusal(column: Member, file_format: Format) -> str | None:
    """Return why a column cannot be one of a Hive table; None: it can."""
    for path, type_ in parts(column.name, column.type):
        name = path.rpartition(".")[2]
        if not _NAME.fullmatch(name):
            return f"field {path} has other characters than letters, digits and _ in its name; give it another one"
        if not isinstance(type_, Struct | ListOf | MapOf):
            try:
                hive_type(type_, file_format)
            except ValueError:
                return f"field {path} is of type {type_}, {_instead(type_, file_format)}"
    return None


def _instead(type_: Type, file_format: Format) -> str:
    match type_:
        case Timestamp():
            instants = _WORDS[file_format].instants or ()
            return (
                f"which engines do not read from {file_format} files of a Hive table; write timestamp[{instants[-1]}]"
            )
        case Time():
            return "and Hive has no times of day; write string, or int64"
        case _:
            return "which is no text where lines are JSON; declare what is in it"
