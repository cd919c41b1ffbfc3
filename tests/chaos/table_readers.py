"""The rows of a table as pyiceberg and DuckDB read them, past everything of the product."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import pyarrow as pa
from pyiceberg.table import Table

from tests.chaos.compaction import catalog_of
from tests.chaos.contents import KAFKA, row_of
from tests.chaos.sale_schemas import DEFAULTS
from tests.chaos.tables import SUMMARY, LiveRow, Snapshots


class UnreadableTableError(Exception):
    """A reader that is a program of its own could not read the table."""


READABLE = (UnreadableTableError, duckdb.Error, pa.ArrowException, OSError, LookupError, ValueError, TypeError)
"""What readers raise when metadata or files are broken or not there, or have other columns."""
_BATCH_ROWS = 1_000
LEVELS = ("dt", "hr", "min")
"""Columns of the folders, in their order."""


def table_of(settings: str) -> Table:
    """Load the table that the settings name (`tests.chaos.compactor`)."""
    found = json.loads(settings)
    (name,) = found["tables"]
    return catalog_of(found).load_table((found["namespace"], name))


def by_pyiceberg(table: Table) -> Iterator[LiveRow]:
    return _rows(table.scan().to_arrow_batch_reader())


def by_duckdb(table: Table, settings: str) -> Iterator[LiveRow]:
    """Read the table by its newest metadata."""
    found = json.loads(settings)
    with duckdb_at(found["endpoint"], found["access"], found["secret"], found["region"]) as connection:
        connection.execute("set timezone = 'UTC'")
        yield from _rows(connection.sql(f"from iceberg_scan('{table.metadata_location}')").to_arrow_reader(_BATCH_ROWS))


@contextmanager
def duckdb_at(endpoint: str, access: str, secret: str, region: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield DuckDB with what it needs to read tables in a bucket."""
    given = {"key_id": access, "secret": secret, "region": region, "endpoint": endpoint.removeprefix("http://")}
    told = ", ".join(f"{name} '{value}'" for name, value in given.items())
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        for package in (duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg):
            connection.load_extension(str(next(Path(package.__file__).parent.rglob("*.duckdb_extension"))))
        connection.execute(f"create secret (type s3, {told}, url_style 'path', use_ssl false)")
        yield connection


def by_lines(lines: Iterable[str]) -> Iterator[LiveRow]:
    """Return rows as `spark_table` prints them: JSON, instants as milliseconds, bytes as hexadecimal digits."""
    for line in lines:
        columns = json.loads(line)
        for name, read in _TOLD.items():
            if columns.setdefault(name) is not None:
                columns[name] = read(columns[name])
        yield _row(columns)


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


_TOLD: Mapping[str, Callable[[Any], Any]] = {
    "at": _instant,
    "kafka_timestamp": _instant,
    "price": Decimal,
    "kafka_key": bytes.fromhex,
}


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[LiveRow]:
    """Return the rows of a table bit by bit: all of them would take gigabytes."""
    for batch in batches:
        for begin in range(0, batch.num_rows, _BATCH_ROWS):
            yield from map(_row, batch.slice(begin, _BATCH_ROWS).to_pylist())


def _row(columns: dict[str, Any]) -> LiveRow:
    """Return a row. A column that its file does not have is null in the table, whatever default it has in Avro."""
    folder = "/".join(f"{level}={columns.pop(level)}" for level in LEVELS)
    told = {name: value for name, value in columns.items() if value is not None or name in KAFKA}
    return LiveRow(columns["kafka_partition"], folder, row_of(told, DEFAULTS))


def snapshots_of(table: Table) -> Snapshots:
    """Return what the snapshots say, in the order of their sequence numbers."""
    ordered = sorted(table.metadata.snapshots, key=lambda one: one.sequence_number or 0)
    summaries: list[Any] = [one.summary.additional_properties if one.summary else {} for one in ordered]
    ours = [one[SUMMARY] for one in summaries if SUMMARY in one]
    return Snapshots(ours, len(summaries) - len(ours))
