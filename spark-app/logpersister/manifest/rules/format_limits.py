"""Finds columns of ``spec.value`` that a file format cannot have. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from logpersister.formats.parquet.settings import ParquetSpec
from logpersister.forms.problems import Finding, PathStep
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.manifest.rules.hive_types import KAFKA_TYPES
from logpersister.schemas.types import KAFKA_PREFIX, ListOf, MapOf, Member, Plain, Struct, Time, Type, fields, parts
from logpersister.values.row_schema import RowSchema

NO_COLUMN: Final = "cannot have this option"
NOT_IN_FORMAT: Final = "cannot hold the columns"
_AVRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parquet_findings(output: OutputSpec, schema: RowSchema) -> Iterator[Finding]:
    """Yield which options are about columns that files do not have, or that cannot have them."""
    at: tuple[PathStep, ...] = ("output", "parquet")
    settings, of_kafka = output.parquet or ParquetSpec(), _of_kafka(output, schema)
    columns = {**of_kafka, **dict(fields(schema.columns))}
    for index, path in enumerate(settings.without_dictionary):
        if path not in columns:
            yield _no_column(path, (*at, "withoutDictionary", index))
    for index, one in enumerate(settings.bloom_filters):
        where = (*at, "bloomFilters", index, "field")
        if one.field not in columns:
            yield _no_column(one.field, where)
        elif isinstance(columns[one.field], Struct | ListOf | MapOf) or columns[one.field] == Plain("bool"):
            told = f"{NO_COLUMN}: it is of type {columns[one.field]}"
            yield Finding(told, "name a field of text, bytes, numbers or times", where, f'"{one.field}"')
    for index, by in enumerate(settings.sort_by):
        where = (*at, "sortBy", index, "field")
        if by.field not in columns:
            yield _no_column(by.field, where)
        elif isinstance(columns[by.field], Struct | ListOf | MapOf):
            told = f"{NO_COLUMN}: values of type {columns[by.field]} have no order"
            yield Finding(told, "name a field of text, bytes, numbers or times", where, f'"{by.field}"')
    yield from _id_findings(settings, schema, of_kafka)


def _id_findings(settings: ParquetSpec, schema: RowSchema, of_kafka: Mapping[str, Type]) -> Iterator[Finding]:
    """Yield which ids are of no column, and which columns have none; only of columns that the manifest declares."""
    if not settings.field_ids or not (schema.fields or schema.registry is None):
        return
    columns: dict[str, Type] = {**{one.name: one.type for one in schema.columns}, **of_kafka}
    wanted = [path for name, type_ in columns.items() for path in _id_paths(name, type_)]
    at: tuple[PathStep, ...] = ("output", "parquet", "fieldIds")
    for index, one in enumerate(settings.field_ids):
        if one.field not in wanted:
            yield _no_column(one.field, (*at, index, "field"))
    numbered = {one.field for one in settings.field_ids}
    for path in (path for path in wanted if path not in numbered):
        told = f"{NO_COLUMN}: column {path} has no id, and readers that go by ids would not find it"
        yield Finding(told, "add {field: " + path + ", id: …} with a number that no column has or had", at)


def _id_paths(path: str, type_: Type) -> Iterator[str]:
    """Yield what of a column has an id, as Iceberg writes it: ``tags``, ``tags.element``."""
    yield path
    match type_:
        case Struct(members):
            inside: Iterable[tuple[str, Type]] = ((one.name, one.type) for one in members)
        case ListOf(item):
            inside = (("element", item),)
        case MapOf(value):
            inside = (("key", Plain("string")), ("value", value))
        case _:
            inside = ()
    for name, inner in inside:
        yield from _id_paths(f"{path}.{name}", inner)


def _of_kafka(output: OutputSpec, schema: RowSchema) -> dict[str, Type]:
    """Return Kafka's own columns."""
    names = output.columns_of_kafka(has_schema=schema.has_columns)
    return {KAFKA_PREFIX + name: KAFKA_TYPES[name] for name in names}


def _no_column(path: str, at: tuple[PathStep, ...]) -> Finding:
    told = f"{NO_COLUMN}: it is no column of the files"
    remedy = "name a field of spec.value (value without one), or kafka_key and the like with kafkaColumns"
    return Finding(told, remedy, at, f'"{path}"')


def format_findings(format_: str, columns: Iterable[Member]) -> Iterator[Finding]:
    """Yield what a format cannot have of these columns."""
    at = ("output", format_)
    for path, _ in fields(columns) if format_ == "avro" else ():
        if not _AVRO_NAME.fullmatch(path.rpartition(".")[2]):
            told = f"{NOT_IN_FORMAT}: field {path} has a name of more than letters, digits and _"
            yield Finding(told, "choose another format, or give it another name by spec.value.rename", at)
    for path, type_ in (part for one in columns for part in parts(one.name, one.type)) if format_ == "orc" else ():
        if isinstance(type_, Time):
            told = f"{NOT_IN_FORMAT}: field {path} is of type {type_}, and ORC has no times of day"
            yield Finding(told, "write string or int64 instead, or choose another format", at)
