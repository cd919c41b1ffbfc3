"""Rules about ``spec.table``: what else of a spec a table needs."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.manifest.blocks.finish import has_time_folders
from logpersister.manifest.blocks.output import Format
from logpersister.manifest.blocks.table import ONE_FOR_SEVERAL, TOPIC, TYPE, Registration, TableSpec
from logpersister.manifest.rules.hive_types import hive_refusal
from logpersister.manifest.rules.sections import Sections
from logpersister.schemas.types import Column, Time, Timestamp, Type, parts

NOT_IN_TABLE: Final = "cannot be a column of the table"
"""How every refusal of a column begins."""
_WITHOUT_MICROSECONDS: Final[Mapping[Type, Type]] = {Timestamp("ns"): Timestamp("us"), Time("ms"): Time("us")}
_COLUMN: Final = re.compile(r"[A-Za-z0-9_-]+=", re.ASCII)


class TableRules(Sections):
    """The rules, for a spec that has these fields."""

    @refuses
    def _an_iceberg_table_fits(self) -> Iterator[Finding]:
        if self.table is None or self.table.format == "hive":
            return
        if self.types is None and self.output.format != "parquet":  # of each type it is told apart (`type_tables`)
            yield Finding("needs Parquet files", "set spec.output.parquet, or spec.table.format to hive", ("table",))
        if self.output.parquet is not None and self.output.parquet.field_ids:
            told = "contradicts spec.table: an Iceberg table numbers its columns itself"
            yield Finding(told, "remove it, or spec.table", ("output", "parquet", "fieldIds"))
        if self.storage.ca_secret_name is not None:
            told = "cannot be combined with an Iceberg table: the library that writes its metadata cannot be given a CA"
            remedy = "remove it if a public authority signed the certificate, or remove spec.table"
            yield Finding(told, remedy, ("storage", "caSecretName"))

    @refuses
    def _a_hive_table_fits(self) -> Iterator[Finding]:
        if self.table is None or self.table.format != "hive":
            return
        if self.types is not None:
            told = "cannot be hive with spec.types, whose types have columns of their own"
            yield Finding(told, "remove spec.table; types have no Hive tables yet", ("table", "format"), '"hive"')
        if self.output.archive is not None:
            yield Finding("cannot read archives", "remove it, or choose another format", ("table",))
        if self.output.format == "jsonl" and not self.row_schema.has_columns:
            told = "needs columns, which JSON lines have by those of values only"
            yield Finding(told, "declare them in spec.value, or set spec.output.parquet", ("table",))
        if self.output.text is not None and self.output.text.delimiter != "\n":
            told = "must be a line feed, which is what Hive tables of text are split at"
            yield Finding(told, "remove it, or remove spec.table", ("output", "text", "delimiter"))
        if self.table.partitions == "onFinish" and self.finish is None:
            told = "waits for finished folders, and spec.finish finishes none"
            remedy = "set spec.finish, or set it to onFirstObject"
            yield Finding(told, remedy, ("table", "partitions"), '"onFinish"')

    @refuses
    def _each_topic_and_type_has_its_table(self) -> Iterator[Finding]:
        if self.table is None:
            return
        at, shown = ("table", "name"), f'"{self.table.name}"'
        if TOPIC not in self.table.name and len(self.kafka.topics or ()) != 1:
            yield Finding(ONE_FOR_SEVERAL, "put the placeholder of the topic into it (docs/tables.md)", at, shown)
        has_tables = self.table.format == "iceberg" or self.types is None
        if has_tables and (TYPE in self.table.name) != (self.types is not None):
            told = "has the placeholder of types without spec.types, or spec.types without it"
            remedy = "put it into the name where there are types, and leave it out elsewhere"
            yield Finding(told, f"{remedy} (docs/tables.md#tables-of-types)", at, shown)

    @refuses
    def _folders_are_columns(self) -> Iterator[Finding]:
        if self.table is None or self.types is not None:  # of each type it is told apart (`type_tables`)
            return
        has_schema = self.row_schema.has_columns
        taken = set() if has_schema else {"value"}
        taken |= {f"kafka_{name}" for name in self.output.columns_of_kafka(has_schema=has_schema)}
        for place, level in enumerate(self.output.partition_by):
            at, shown = ("output", "partitionBy", place), f'"{level.folder_prefix}"'
            column = level.folder_prefix.removesuffix("=").lower()
            if not _COLUMN.fullmatch(level.folder_prefix):
                remedy = "set a prefix of letters, digits, - and _ with = at the end, for example dt="
                yield Finding("names no column of the table", remedy, at, shown)
            elif column in taken:
                yield Finding("names a column that the table has already", "set another prefix", at, shown)
            taken.add(column)

    @refuses
    def _columns_are_those_of_tables(self) -> Iterator[Finding]:
        schema = self.row_schema
        if self.table is None or self.types is not None or not schema.has_columns or schema.asks_registry:
            return  # told when the registry has said what the fields are
        for column in schema.columns:
            reason = refusal(column, self.table, self.output.format)
            if reason is not None:
                yield Finding(f"{NOT_IN_TABLE}: {reason}", "give the field another type", ("value",))


def registration(spec: Sections) -> Registration | None:
    """Return when folders become partitions of a Hive table; None: there is none, or it has no partitions."""
    table, levels = spec.table, spec.output.partition_by
    if table is None or table.format != "hive" or not levels:
        return None
    return table.partitions if has_time_folders(levels) else "onFirstObject"


def refusal(column: Column, table: TableSpec, file_format: Format) -> str | None:
    """Return why a column cannot be one of a table; None: it can."""
    if table.format == "hive":
        return hive_refusal(column, file_format)
    for path, type_ in parts(column.name, column.type):
        if type_ in _WITHOUT_MICROSECONDS:
            instead = _WITHOUT_MICROSECONDS[type_]
            return f"field {path} is of type {type_}, and Iceberg has microseconds; write {instead}"
    return None
