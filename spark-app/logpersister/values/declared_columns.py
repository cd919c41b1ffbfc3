"""Columns as schemas of Avro, protobuf, Thrift and JSON Schema declare them, checked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from logpersister.forms.problems import Finding, PathStep, RefusedError, refuse, show
from logpersister.schemas.column import Column
from logpersister.schemas.types import MOST_COLUMNS, Plain, leaves
from logpersister.schemas.written_column import Remark, WrittenColumn
from logpersister.values.avro import columns as avro_columns
from logpersister.values.avro.columns import AvroTextError
from logpersister.values.json import columns as json_columns
from logpersister.values.json.errors import JsonSchemaError, NotJsonError
from logpersister.values.protobuf import columns as protobuf_columns
from logpersister.values.protobuf.errors import NoImportError, ProtobufError
from logpersister.values.protobuf.schema import read_schema
from logpersister.values.renaming import RenameSpec, usable
from logpersister.values.thrift import columns as thrift_columns
from logpersister.values.thrift.errors import ThriftError, UnfitColumnError
from logpersister.values.thrift.plan import plan_of
from logpersister.values.thrift.schema import read_schema as read_idl

NO_AVRO = "cannot be the columns"
"""How every refusal of a schema begins."""
OTHER_COLUMNS = "correct it, or name the columns in fields of spec.value"
CORRECT = "correct the schema"
_IMPORTS = "write a descriptor set of protoc --include_imports in base64 (docs/schemas.md#protobuf)"
_MOST_TOLD = 5
"""Names of messages or structs that a message lists."""
_ANY: Final = Plain("string")
"""Stands for the type of a field that becomes no column and could be none."""

_MOST_KEPT = 512
"""Schemas whose columns are kept: each type of a topic may have one."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a manifest makes of the fields that a schema has."""

    unused: frozenset[str] = frozenset()
    """Names of fields that become no columns, so they may be of any type."""
    rename: tuple[RenameSpec, ...] = ()


PLAINLY: Final = Use()


@dataclass(frozen=True, slots=True)
class Declared:
    """The columns that a schema declares, with the names that values have, and what they do not hold."""

    columns: tuple[Column, ...]
    remarks: tuple[Remark, ...] = ()


@lru_cache(maxsize=_MOST_KEPT)
def columns_by(avro: str, use: Use = PLAINLY) -> Declared:
    """Return the columns that an Avro schema declares. Raises `RefusedError`."""
    try:
        return _checked(avro_columns.columns_of(avro, as_reader=True), use)
    except AvroTextError as error:
        raise refuse(f"{NO_AVRO}: {error}", CORRECT) from None


@lru_cache(maxsize=_MOST_KEPT)
def columns_by_message(protobuf: str, message: str | None, use: Use = PLAINLY) -> Declared:
    """Return the columns that a message of protobuf declares. Raises `RefusedError`."""
    check_message(protobuf, message)
    try:
        return _checked(protobuf_columns.columns_of(protobuf, message, as_reader=True), use)
    except ProtobufError as error:
        raise refuse(f"{NO_AVRO}: {error}", OTHER_COLUMNS) from None


@lru_cache(maxsize=_MOST_KEPT)
def columns_by_struct(idl: str, struct: str | None, use: Use = PLAINLY) -> Declared:
    """Return the columns that a struct of Thrift declares. Raises `RefusedError`."""
    check_struct(idl, struct)
    try:
        return _checked(thrift_columns.columns_of(idl, struct), use)
    except ThriftError as error:
        raise refuse(f"{NO_AVRO}: {error}", OTHER_COLUMNS) from None


@lru_cache(maxsize=_MOST_KEPT)
def columns_by_json_schema(text: str, use: Use = PLAINLY) -> Declared:
    """Return the columns that a JSON Schema declares. Raises `RefusedError`."""
    try:
        return _checked(json_columns.columns_of(text, as_reader=True), use)
    except JsonSchemaError as error:
        remedy = CORRECT if isinstance(error, NotJsonError) else OTHER_COLUMNS
        raise refuse(f"{NO_AVRO}: {error}", remedy) from None


@lru_cache(maxsize=_MOST_KEPT)
def check_avro(avro: str) -> None:
    """Raise `RefusedError` for a text that is no Avro schema of records, whatever columns it can have."""
    try:
        avro_columns.columns_of(avro)
    except AvroTextError as error:
        raise refuse(f"{NO_AVRO}: {error}", CORRECT) from None


def check_message(protobuf: str, message: str | None) -> None:
    """Raise `RefusedError` for a text that is no schema of protobuf, or has no such message."""
    try:
        schema = read_schema(protobuf)
    except ProtobufError as error:
        remedy = _IMPORTS if isinstance(error, NoImportError) else CORRECT
        raise refuse(f"{NO_AVRO}: {error}", remedy) from None
    try:
        schema.message(message)
    except ProtobufError as error:
        if message is None or not schema.roots:
            raise refuse(f"{NO_AVRO}: {error}", CORRECT) from None
        names = [name for one in schema.roots for name in one.names()]
        told, found = f"{NO_AVRO}: the schema has no such message", f'"{message}"'
        raise RefusedError(Finding(told, _one_of(names, message), ("message",), found)) from None


def check_struct(idl: str, struct: str | None) -> None:
    """Raise `RefusedError` for a text that is no schema of Thrift, or has no such struct."""
    try:
        schema = read_idl(idl)
    except ThriftError as error:
        raise refuse(f"{NO_AVRO}: {error}", CORRECT) from None
    try:
        schema.struct(struct)
    except ThriftError as error:
        if not schema.structs:
            raise refuse(f"{NO_AVRO}: {error}", CORRECT) from None
        told = str(error) if struct is None else "the schema has no such struct"
        found = None if struct is None else f'"{struct}"'
        remedy = _one_of(schema.roots or tuple(schema.structs), struct)
        raise RefusedError(Finding(f"{NO_AVRO}: {told}", remedy, ("struct",), found)) from None


def unfit_columns(idl: str, struct: str | None, columns: Sequence[Column]) -> Iterator[tuple[Column, UnfitColumnError]]:
    """Yield the columns that a struct of Thrift cannot become, of a schema that has this struct."""
    for one in columns:
        try:
            plan_of(idl, struct, (one,), {one.name: one.format})
        except UnfitColumnError as error:
            yield one, error


def unfit_findings(idl: str, struct: str | None, columns: Sequence[Column], fields: Sequence[str]) -> Iterator[Finding]:
    """Yield `unfit_columns` as findings about ``spec.value``; `fields`: names of its declared fields."""
    for column, error in unfit_columns(idl, struct, columns):
        told = f"{NO_AVRO}: {error}"
        if column.name not in fields:
            yield Finding(told, CORRECT, ("idl",))
        elif error.known and error.path == column.name:
            at = ("fields", fields.index(column.name), "name")
            yield Finding(f"{NO_AVRO}: {error.told}", unfit_remedy(error), at, f'"{column.name}"')
        else:
            at = ("fields", fields.index(column.name), "type")
            yield Finding(told, unfit_remedy(error), at, show(str(column.type)))


def unfit_remedy(error: UnfitColumnError) -> str:
    """Return what to do about a column that a struct cannot become."""
    if not error.known:
        return "write another type (docs/schemas.md#thrift)"
    found = _one_of(error.known, error.path.rpartition(".")[2])
    return found if found.endswith("?") else f"remove it, or {found}"


def findings_at(error: RefusedError, *at: PathStep, other_columns: str | None = None) -> list[Finding]:
    """Return what is wrong with a schema, told at its text unless a better place is known.

    Args:
        error: what was raised.
        at: the text.
        other_columns: what to do where the columns can be declared otherwise; None: as it says.
    """
    found = (replace(one, at=one.at or at) for one in error.findings)
    if other_columns is None:
        return list(found)
    return [replace(one, remedy=other_columns) if one.remedy.startswith(OTHER_COLUMNS) else one for one in found]


def _one_of(names: Sequence[str], wanted: str | None) -> str:
    close = [] if wanted is None else get_close_matches(wanted, names, 1)
    if close:
        return f"did you mean {close[0][:64]}?"
    told, more = ", ".join(one[:64] for one in names[:_MOST_TOLD]), len(names) - _MOST_TOLD
    return f"write one of: {told}" + (f" (and {more} more)" if more > 0 else "")


def _checked(found: Sequence[WrittenColumn], use: Use) -> Declared:
    """Return the columns, without the fields that cannot be any. Raises `RefusedError` where none can."""
    columns: list[Column] = []
    remarks: list[Remark] = []
    for one in found:
        remarks += () if one.name in use.unused else one.remarks
        if one.type is not None or one.name in use.unused:
            columns.append(Column(one.name, one.type or _ANY, one.required, one.default, one.aliases))
        else:
            remarks.append(Remark(one.name, one.remark, is_left_out=True))
    named, unnamed = usable(columns, use.rename, use.unused)
    left_out = [one for one in (*remarks, *unnamed) if one.is_left_out]
    if not named:
        if not left_out:
            raise refuse(f"{NO_AVRO}: it has no fields", "write a schema that has some")
        told = "; ".join(f"its field {one.path[:64]!r}: {one.text}" for one in left_out[:_MOST_TOLD])
        raise refuse(f"{NO_AVRO}: {told}", OTHER_COLUMNS)
    if sum(1 for one in named for _ in leaves(one.type)) > MOST_COLUMNS:
        raise refuse(f"{NO_AVRO}: it has more than {MOST_COLUMNS} columns at all depths together", OTHER_COLUMNS)
    return Declared(named, (*remarks, *unnamed))
