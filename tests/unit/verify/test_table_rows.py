"""Rows of a table beside records of Kafka: each record is one live row, wherever it is; by pyiceberg's own catalog."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.expressions.parser import parse
from pyiceberg.table import Table

from logpersister.manifest.spec import Spec
from logpersister.ranges import Range, TopicPartition
from logpersister.tables.columns import table_columns
from logpersister.tables.live_rows import LiveRows
from logpersister.verify import table_rows
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.table_rows import FileColumns, RowsResult, StoredRange, TableRows, folder_values
from logpersister.verify.writing import Writing
from tests.unit.pipeline.fakes import FakeRead
from tests.unit.records.batches import batch_of
from tests.unit.tables.samples import manifest

pytestmark = pytest.mark.slow
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "int32", "required": True},
    {"name": "at", "type": "timestamp[ms]", "format": "epoch[ms]"},
    {"name": "geo", "type": "struct<country: string, lat: float32>"},
    {"name": "tags", "type": "list<string>"},
    {"name": "counts", "type": "map<string, int16>"},
]
OUTPUT = {"parquet": {"kafkaColumns": ["partition", "offset", "timestamp"]}, "partitionBy": [{"field": "geo.country"}]}
CLICKS = TopicPartition("clicks", 0)
SPEC: Spec = manifest(FIELDS, output=OUTPUT).spec
COLUMNS = table_columns(manifest(FIELDS, output=OUTPUT))


def value(number: int) -> bytes:
    row: dict[str, Any] = {"id": number, "at": 1_700_000_000_000 + number, "tags": [None, "a"][: number % 3]}
    row["geo"] = {"country": ["de", None][number % 2], "lat": number / 2} if number % 5 else None
    row["counts"] = {"x": number} if number % 4 else None
    return json.dumps(row).encode() if number % 7 else b"no row"


class Kafka:
    """A log of records whose numbers are their offsets."""

    def __init__(self, end: int) -> None:
        self.end = end

    def read(self, requests: Sequence[Any]) -> Iterator[FakeRead]:
        wanted: Range = requests[0].range
        offsets = [at for at in range(wanted.start, min(wanted.end, self.end)) if at != 11]  # compacted
        pieces = [offsets[begin : begin + 8] for begin in range(0, len(offsets), 8)]
        records = [batch_of([1_700_000_000_000] * len(some), some, values=[*map(value, some)]) for some in pieces]
        yield FakeRead(wanted, records)


def rows_of(start: int, end: int) -> list[dict[str, Any]]:
    """Return what the table has of records, as another engine would write it."""
    found = []
    for number in range(start, end):
        if number % 7 and number != 11:
            row = json.loads(value(number))
            row["at"] *= 1000
            country = None if row["geo"] is None else row["geo"]["country"]
            more = {"kafka_partition": 0, "kafka_offset": number, "kafka_timestamp": 1_700_000_000_000_000}
            found.append(row | more | {"country": country})
    return found


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = load_catalog(
        "t", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse"
    )
    opened.create_namespace("lake")
    yield opened
    opened.close()


@pytest.fixture
def table(catalog: Catalog) -> Table:
    """With wider columns than the files of our revision, and some that it does not have."""
    made = catalog.create_table("lake.clicks", COLUMNS.schema)
    with made.update_schema() as change:
        others: dict[str, Any] = {"new": pa.string(), "id": pa.int64()}
        change.union_by_name(pa.schema(others | {"geo": struct(city=pa.string(), lat=pa.float64())}))
    return catalog.load_table("lake.clicks")


def struct(**members: Any) -> Any:
    return pa.struct([pa.field(name, type_) for name, type_ in members.items()])


def append(table: Table, rows: list[dict[str, Any]]) -> None:
    schema = table.schema().as_arrow()
    table.append(pa.Table.from_pylist([dict.fromkeys(schema.names) | row for row in rows], schema=schema))


def ids(table: Table) -> dict[str, int]:
    return {field.name: field.field_id for field in table.schema().fields}


def ranges(*ends: int, generation: int = 1, table: Table) -> list[StoredRange]:
    """Return ranges that lie side by side, of records that are in the folders of two countries and null."""
    columns = FileColumns(COLUMNS.files, ids(table), COLUMNS.folders)
    found = []
    for start, end in zip((0, *ends), ends, strict=False):
        rows = rows_of(start, end)
        null = sum(row["country"] is None for row in rows)
        records = {"country=de": len(rows) - null, "country=__HIVE_DEFAULT_PARTITION__": null}
        writing = Writing(SPEC, lambda _: None)
        values = {path: folder_values(path) for path in records}
        found.append(StoredRange(Range(CLICKS, start, end), generation, records, values, writing, columns))
    return found


def compared(table: Table, stored: Sequence[StoredRange], *, first: int = 0, end: int = 100) -> RowsResult:
    reader: Any = Kafka(end)
    readable = {0: Range(CLICKS, first, end)} if first < end else {}
    return TableRows("lake.clicks", LiveRows(table), reader, readable).compare(stored)


def kinds(findings: Sequence[Finding]) -> list[tuple[Kind, int]]:
    return [(one.kind, one.start) for one in findings]


@pytest.mark.parametrize("chunk", [7, 20_000])
def test_each_record_in_one_row_is_well_whoever_wrote_the_files(
    table: Table, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(table_rows, "CHUNK", chunk)
    append(table, rows_of(20, 50))
    append(table, rows_of(0, 20))
    result = compared(table, ranges(10, 35, 50, table=table))
    assert (result.findings, result.compared) == ([], len(rows_of(0, 50)))


def test_rows_that_are_missing_twice_or_others_are_found(table: Table) -> None:
    rows = rows_of(0, 30)
    wrong = [row | {"tags": ["b"]} if row["kafka_offset"] == 8 else row for row in rows if row["kafka_offset"] != 5]
    append(table, [*wrong, rows[1], rows[2] | {"kafka_offset": 11}])
    found = compared(table, ranges(30, table=table))
    assert kinds(found.findings) == [
        (Kind.NOT_IN_TABLE, 5),
        (Kind.WRONG_CONTENT, 8),
        (Kind.TWICE_IN_TABLE, 2),
        (Kind.TWICE_IN_TABLE, 11),
    ]
    assert "table lake.clicks has ['b'] where Kafka has" in found.findings[1].message
    assert all(one.is_problem for one in found.findings)


def test_deleted_rows_and_folders_that_are_not_those_of_the_record_are_found(table: Table) -> None:
    append(table, [row | ({"country": "fr"} if row["kafka_offset"] == 4 else {}) for row in rows_of(0, 30)])
    table.delete(parse("kafka_offset >= 20"))
    found = compared(table, ranges(30, table=table)).findings
    assert (Kind.WRONG_CONTENT, 4) in kinds(found)
    assert (Kind.NOT_IN_TABLE, 20) in kinds(found)
    assert len(found) == 1 + len(rows_of(20, 30))


def test_two_generations_in_one_table_have_a_row_each(table: Table) -> None:
    append(table, rows_of(0, 30))
    both = [*ranges(30, table=table), *ranges(12, 30, table=table, generation=2)]
    assert (Kind.NOT_IN_TABLE, 1) in kinds(compared(table, both).findings)
    append(table, rows_of(0, 30))
    result = compared(table, both)
    assert (result.findings, result.compared) == ([], 2 * len(rows_of(0, 30)))


def test_rows_whose_records_kafka_has_no_more_are_counted(table: Table) -> None:
    append(table, rows_of(0, 30))
    stored = ranges(10, 20, 30, table=table)
    result = compared(table, stored, first=15)
    assert (result.findings, result.compared, result.not_in_kafka) == ([], len(rows_of(15, 30)), len(rows_of(0, 15)))
    append(table, rows_of(3, 4))
    table.delete(parse("kafka_offset = 6"))
    twice, less = compared(table, stored, first=15).findings
    assert (twice.kind, twice.start, less.kind, less.start) == (Kind.TWICE_IN_TABLE, 3, Kind.NOT_IN_TABLE, 0)
    assert f"has {len(rows_of(0, 10)) - 1} of its {len(rows_of(0, 10))} rows" in less.message
    assert compared(table, stored, first=1, end=0).not_in_kafka == len(rows_of(0, 30)), (
        "there is no such topic any more"
    )
