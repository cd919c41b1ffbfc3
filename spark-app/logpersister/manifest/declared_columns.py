"""Columns as schemas of Avro, protobuf, Thrift and JSON Schema declare them, checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from logpersister.manifest import avro_columns
from logpersister.manifest.avro_columns import AvroTextError
from logpersister.manifest.json_schema import columns as json_columns
from logpersister.manifest.json_schema.errors import JsonSchemaError
from logpersister.manifest.notation import Notation
from logpersister.manifest.problems import refuse
from logpersister.manifest.protobuf import columns as protobuf_columns
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.schema import read_schema
from logpersister.manifest.thrift import columns as thrift_columns
from logpersister.manifest.thrift.errors import ThriftError
from logpersister.manifest.thrift.plan import plan_of
from logpersister.manifest.types import MOST_COLUMNS, Member, Plain, leaves
from logpersister.manifest.written_column import WrittenColumn

NO_AVRO = "cannot be the columns"
"""How every refusal of a schema begins."""
OTHER_COLUMNS = "correct it, or name the columns in spec.schema.fields, or those to leave out in spec.schema.drop"
_ANY: Final = Plain("string")
"""Stands for the type of a field that becomes no column and could be none."""

_MOST_KEPT = 512
"""Schemas whose columns are kept: each type of a topic may have one."""


@dataclass(frozen=True, slots=True)
class Column(Member):
    """A column of the rows, wherever it is declared."""

    format: Notation | None = None
    """Notation of its timestamps; None: `rfc3339`."""


@lru_cache(maxsize=_MOST_KEPT)
def columns_by(avro: str, unused: frozenset[str] = frozenset()) -> tuple[Column, ...]:
    """Return the columns that an Avro schema declares. Raises `RefusedError`.

    Here and below `unused` are names of fields that become no columns, so they may be of any type.
    """
    try:
        return _checked(avro_columns.columns_of(avro, as_reader=True), unused)
    except AvroTextError as error:
        raise refuse(f"{NO_AVRO}: {error}", OTHER_COLUMNS) from None


@lru_cache(maxsize=_MOST_KEPT)
def columns_by_message(protobuf: str, message: str | None, unused: frozenset[str] = frozenset()) -> tuple[Column, ...]:
    """Return the columns that a message of protobuf declares. Raises `RefusedError`."""
    try:
        return _checked(protobuf_columns.columns_of(protobuf, message, as_reader=True), unused)
    except ProtobufError as error:
        raise refuse(f"{NO_AVRO}: {error}", OTHER_COLUMNS) from None


@lru_cache(maxsize=_MOST_KEPT)
def columns_by_struct(idl: str, struct: str | None, unused: frozenset[str] = frozenset()) -> tuple[Column, ...]:
    """Return the columns that a struct of Thrift declares. Raises `RefusedError`."""
    try:
        return _checked(thrift_columns.columns_of(idl, struct), unused)
    except ThriftError as error:
        raise refuse(f"{NO_AVRO}: {error}", OTHER_COLUMNS) from None


@lru_cache(maxsize=_MOST_KEPT)
def columns_by_json_schema(text: str, unused: frozenset[str] = frozenset()) -> tuple[Column, ...]:
    """Return the columns that a JSON Schema declares. Raises `RefusedError`."""
    try:
        return _checked(json_columns.columns_of(text, as_reader=True), unused)
    except JsonSchemaError as error:
        raise refuse(f"{NO_AVRO}: {error}", OTHER_COLUMNS) from None


@lru_cache(maxsize=_MOST_KEPT)
def check_avro(avro: str) -> None:
    """Raise `RefusedError` for a text that is no Avro schema of records, whatever columns it can have."""
    try:
        avro_columns.columns_of(avro)
    except AvroTextError as error:
        raise refuse(f"{NO_AVRO}: {error}", OTHER_COLUMNS) from None


def check_message(protobuf: str, message: str | None) -> None:
    """Raise `RefusedError` for a text that is no schema of protobuf, or has no such message."""
    try:
        read_schema(protobuf).message(message)
    except ProtobufError as error:
        raise refuse(f"{NO_AVRO}: {error}", OTHER_COLUMNS) from None


def check_struct(idl: str, struct: str | None, columns: Sequence[Column]) -> None:
    """Raise `RefusedError` where a struct of Thrift cannot become columns."""
    try:
        plan_of(idl, struct, columns, {one.name: one.format for one in columns})
    except ThriftError as error:
        raise refuse(f"{NO_AVRO}: {error}", OTHER_COLUMNS) from None


def _checked(found: Sequence[WrittenColumn], unused: frozenset[str]) -> tuple[Column, ...]:
    columns: list[Column] = []
    for one in found:
        type_ = one.type
        if type_ is None and one.name not in unused:
            raise refuse(f"{NO_AVRO}: its field {one.name[:64]!r}: {one.remark}", OTHER_COLUMNS)
        if one.name.lower() in (before.name.lower() for before in columns):
            raise refuse(f"{NO_AVRO}: it has the field {one.name!r} twice; case does not count", OTHER_COLUMNS)
        columns.append(Column(one.name, type_ or _ANY, one.required, one.default, one.aliases))
    if not columns:
        raise refuse(f"{NO_AVRO}: it has no fields", OTHER_COLUMNS)
    if sum(1 for one in columns for _ in leaves(one.type)) > MOST_COLUMNS:
        raise refuse(f"{NO_AVRO}: it has more than {MOST_COLUMNS} columns at all depths together", OTHER_COLUMNS)
    return tuple(columns)
