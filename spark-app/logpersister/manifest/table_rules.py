"""Rules about ``spec.table``: what else of a spec a table needs."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from logpersister.manifest.column import Column
from logpersister.manifest.constraint import Model
from logpersister.manifest.event_types import TypesSpec
from logpersister.manifest.finish import FinishSpec, has_time_folders
from logpersister.manifest.hive_types import hive_refusal
from logpersister.manifest.kafka import KafkaSpec
from logpersister.manifest.output import Format, OutputSpec
from logpersister.manifest.problems import Finding
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.rule import NotInCel, rule
from logpersister.manifest.storage import StorageSpec
from logpersister.manifest.table import ONE_FOR_SEVERAL, TOPIC, TYPE, Registration, TableSpec
from logpersister.manifest.types import ListOf, MapOf, Struct, Time, Timestamp, Type

NOT_IN_TABLE: Final = "cannot be a column of the table"
"""How every refusal of a column begins."""
_COLUMN: Final = re.compile(r"[A-Za-z0-9_-]+=", re.ASCII)


class _Table(Protocol):
    """Sections of a spec that a table depends on."""

    @property
    def table(self) -> TableSpec | None: ...

    @property
    def kafka(self) -> KafkaSpec: ...

    @property
    def storage(self) -> StorageSpec: ...

    @property
    def row_schema(self) -> SchemaSpec | None: ...

    @property
    def output(self) -> OutputSpec: ...

    @property
    def types(self) -> TypesSpec | None: ...

    @property
    def finish(self) -> FinishSpec | None: ...


class TableRules(Model):
    """The rules, for a spec that has these fields."""

    @rule(
        "!has(self.table) || self.table.format == 'hive' || has(self.types) || $output.format == 'parquet'",
        "needs Parquet files",
        "set spec.output.format to parquet, or spec.table.format to hive",
        "table",
    )
    def _files_of_an_iceberg_table_are_parquet(self: _Table) -> bool:
        if self.table is None or self.table.format == "hive" or self.types is not None:
            return True  # of each type it is told apart (`type_tables`)
        return self.output.format == "parquet"

    @rule(
        "!has(self.table) || self.table.format == 'hive' || !has(self.output) || !has(self.output.parquet)"
        " || !has(self.output.parquet.fieldIds) || self.output.parquet.fieldIds.size() == 0",
        "contradicts spec.table: an Iceberg table numbers its columns itself",
        "remove it, or spec.table",
        *("output", "parquet", "fieldIds"),
    )
    def _an_iceberg_table_numbers_its_columns(self: _Table) -> bool:
        if self.table is None or self.table.format == "hive" or self.output.parquet is None:
            return True
        return not self.output.parquet.field_ids

    @rule(
        "!has(self.table) || self.table.format != 'hive' || !has(self.types)",
        "cannot be hive with spec.types, whose types have columns of their own",
        "remove spec.table; types have no Hive tables yet",
        *("table", "format"),
    )
    def _types_have_no_hive_tables(self: _Table) -> bool:
        return self.table is None or self.table.format != "hive" or self.types is None

    @rule(
        "!has(self.table) || self.table.format != 'hive' || $output.format != 'jsonl' || has(self.schema)",
        "needs columns, which JSON lines have by a schema only",
        "declare them in spec.schema, or set spec.output.format to parquet",
        "table",
    )
    def _lines_of_a_hive_table_have_columns(self: _Table) -> bool:
        is_jsonl = self.table is not None and self.table.format == "hive" and self.output.format == "jsonl"
        return not is_jsonl or self.row_schema is not None

    @rule(
        "!has(self.table) || self.table.format != 'hive' || $output.format != 'text' || !has(self.output)"
        r" || !has(self.output.text) || !has(self.output.text.delimiter) || self.output.text.delimiter == '\n'",
        "must be a line feed, which is what Hive tables of text are split at",
        "remove it, or remove spec.table",
        *("output", "text", "delimiter"),
    )
    def _lines_of_a_hive_table_end_with_a_line_feed(self: _Table) -> bool:
        of_hive = self.table is not None and self.table.format == "hive"
        return not of_hive or self.output.text is None or self.output.text.delimiter == "\n"

    @rule(
        "!has(self.table) || !has(self.table.partitions) || self.table.partitions != 'onFinish' || has(self.finish)",
        "waits for finished folders, and spec.finish finishes none",
        "set spec.finish, or set it to onFirstObject",
        *("table", "partitions"),
    )
    def _folders_are_finished(self: _Table) -> bool:
        return self.table is None or self.table.partitions != "onFinish" or self.finish is not None

    @rule(
        f"!has(self.table) || self.table.name.contains('{TOPIC}')"
        " || has(self.kafka.topics) && self.kafka.topics.size() == 1",
        ONE_FOR_SEVERAL,
        "put the placeholder of the topic into it (docs/tables.md)",
        *("table", "name"),
    )
    def _each_topic_has_its_table(self: _Table) -> bool:
        return self.table is None or TOPIC in self.table.name or len(self.kafka.topics or ()) == 1

    @rule(
        f"!has(self.table) || self.table.name.contains('{TYPE}') == has(self.types)"
        " || self.table.format == 'hive' && has(self.types)",
        "has the placeholder of types without spec.types, or spec.types without it",
        "put it into the name where there are types, and leave it out elsewhere (docs/tables.md#tables-of-types)",
        *("table", "name"),
    )
    def _each_type_has_its_table(self: _Table) -> bool:
        if self.table is None or (self.table.format == "hive" and self.types is not None):
            return True  # they have no tables, whatever the name
        return (TYPE in self.table.name) == (self.types is not None)

    @rule(
        "!has(self.table) || self.table.format == 'hive' || !has(self.storage.caSecretName)",
        "cannot be combined with an Iceberg table: the library that writes its metadata cannot be given a CA",
        "remove it if a public authority signed the certificate, or remove spec.table",
        *("storage", "caSecretName"),
    )
    def _the_bucket_has_a_public_authority(self: _Table) -> bool:
        return self.table is None or self.table.format == "hive" or self.storage.ca_secret_name is None

    @rule(
        NotInCel("the default of a folder's prefix depends on its granularity"),
        "names no column of the table",
        "set a prefix of letters, digits, - and _ with = at the end, for example dt=",
        *("output", "partitionBy"),
    )
    def _folders_are_columns(self: _Table) -> Sequence[Finding]:
        if self.table is None or self.types is not None:  # of each type it is told apart (`type_table_rules`)
            return []
        told = "names no column of the table"
        remedy = "set a prefix of letters, digits, - and _ with = at the end, for example dt="
        return [
            Finding(told, remedy, ("output", "partitionBy", place), f'"{level.folder_prefix}"')
            for place, level in enumerate(self.output.partition_by)
            if not _COLUMN.fullmatch(level.folder_prefix)
        ]

    @rule(
        NotInCel("names are compared without regard to case, and the default of a prefix depends on its granularity"),
        "names a column that the table has already",
        "set another prefix",
        *("output", "partitionBy"),
    )
    def _folders_are_columns_of_their_own(self: _Table) -> Sequence[Finding]:
        if self.table is None or self.types is not None:
            return []
        told: list[Finding] = []
        has_schema = self.row_schema is not None
        taken = set() if has_schema else {"value"}
        taken |= {f"kafka_{name}" for name in self.output.columns_of_kafka(has_schema=has_schema)}
        for place, level in enumerate(self.output.partition_by):
            column = level.folder_prefix.removesuffix("=").lower()
            if column in taken:
                where, shown = ("output", "partitionBy", place), f'"{level.folder_prefix}"'
                told.append(Finding("names a column that the table has already", "set another prefix", where, shown))
            taken.add(column)
        return told

    @rule(
        NotInCel("it would have to understand the types of the schema"),
        NOT_IN_TABLE,
        "give the field another type",
        "schema",
    )
    def _columns_are_those_of_tables(self: _Table) -> Sequence[Finding]:
        has_columns = self.types is None and self.row_schema is not None
        if self.table is None or not has_columns or self.row_schema is None or self.row_schema.asks_registry:
            return []  # told when the registry has said what the fields are
        refused = [
            one for column in self.row_schema.columns if (one := refusal(column, self.table, self.output.format))
        ]
        return [Finding(f"{NOT_IN_TABLE}: {reason}", "give the field another type", ("schema",)) for reason in refused]


def registration(spec: _Table) -> Registration | None:
    """Return when folders become partitions of a Hive table; None: there is none, or it has no partitions."""
    table, levels = spec.table, spec.output.partition_by
    if table is None or table.format != "hive" or not levels:
        return None
    return table.partitions if has_time_folders(levels) else "onFirstObject"


def refusal(column: Column, table: TableSpec, file_format: Format) -> str | None:
    """Return why a column cannot be one of a table; None: it can."""
    if table.format == "hive":
        return hive_refusal(column, file_format)
    return next(_refusals(column.name, column.type), None)


def _refusals(path: str, type_: Type) -> Iterator[str]:
    match type_:
        case Timestamp("ns"):
            yield f"field {path} is of type timestamp[ns], and Iceberg has microseconds; write timestamp[us]"
        case Time("ms"):
            yield f"field {path} is of type time[ms], and Iceberg has microseconds; write time[us]"
        case Struct(members):
            for one in members:
                yield from _refusals(f"{path}.{one.name}", one.type)
        case ListOf(item):
            yield from _refusals(f"{path}[]", item)
        case MapOf(value):
            yield from _refusals(f"{path}{{}}", value)
        case _:
            pass
