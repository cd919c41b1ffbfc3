"""Columns of the files of a revision, and of the table beside them. Pure."""

import hashlib
import json
from dataclasses import dataclass

import pyarrow as pa

from logpersister.formats.file_columns import columns_of
from logpersister.manifest import LogPersister
from logpersister.manifest.rules.table_rules import refusal
from logpersister.tables.errors import TableError
from logpersister.values.reading.columns import bare, row_columns, without_notation


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Required columns and partitioning of a table."""

    files: pa.Schema
    """Columns of the files, all of which may be null: what one schema requires, another may not have."""
    folders: tuple[str, ...]
    """Columns that are in no file: those that folders name, by which the table is partitioned. They are text, as
    readers of the folders see them."""

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.files, *(pa.field(name, pa.string()) for name in self.folders)])

    def digest(self, table: str) -> str:
        """Return what stands for these columns of a table in the name of a note."""
        said = {"table": table, "columns": [str(field) for field in self.schema], "folders": self.folders}
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]


def table_columns(resource: LogPersister) -> TableColumns:
    """Return what the files of a resource need of a table; overrides aside. Raises `TableError`.

    The registry has been asked already: the resource is that of a revision.
    """
    check_columns(resource)
    spec = resource.spec
    kafka = spec.output.columns_of_kafka(has_schema=spec.row_schema.has_columns)
    files = columns_of("", without_notation(row_columns(spec.row_schema)), kafka, keeps_tombstones=True).schema
    folders = tuple(level.folder_prefix.removesuffix("=") for level in spec.output.partition_by)
    return TableColumns(pa.schema([bare(field, optional=True) for field in files]), folders)


def columns_by_type(resource: LogPersister) -> dict[str, TableColumns]:
    """Return what the files of each type need of its table; `NO_TYPE` of a topic without types. Raises `TableError`."""
    of_types = resource.spec.tables_of_types().items()
    return {type_: table_columns(resource.model_copy(update={"spec": spec})) for type_, spec in of_types}


def check_columns(resource: LogPersister) -> None:
    """Raise `TableError` unless all columns can be those of the table; the manifest says so where it declares them."""
    spec = resource.spec
    if spec.row_schema.has_columns and spec.table is not None:
        for column in spec.row_schema.columns:
            if (reason := refusal(column, spec.table, spec.output.format)) is not None:
                raise TableError("schema", f"{reason}; the schema is that of the registry")
