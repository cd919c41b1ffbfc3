"""Sorted row groups: the order is that of plain Python, whatever the batches; and what readers are told."""

import io
import random
from functools import cmp_to_key
from math import copysign, isnan
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import logpersister_native as native
from logpersister.formats import binary
from logpersister.formats.base import ObjectIdentity
from logpersister.formats.parquet.settings import ParquetSpec, SortColumnSpec
from logpersister.formats.parquet.sorted_groups import SortedGroups
from logpersister.formats.parquet.write import ParquetFormat
from logpersister.ranges import Range, TopicPartition
from logpersister.records.escaping import QUARANTINE
from tests.examples import examples
from tests.unit.formats import random_rows
from tests.unit.formats.random_rows import OPTIONS
from tests.unit.formats.samples import Record, batch, encode, sorted_by
from tests.unit.formats.test_parquet_writer import random_cuts, told, values


def sizes_of(rows: pa.RecordBatch, size: int = 10) -> binary.Integers:
    return np.full(rows.num_rows, size, np.int64)


def groups(
    batches: list[pa.RecordBatch], order: tuple[SortColumnSpec, ...], least: int = 1 << 30
) -> list[pa.RecordBatch]:
    waiting = SortedGroups(order, least)
    found = [group for one in batches for group, _ in waiting.add(one, sizes_of(one))]
    return [*found, *(group for group, _ in waiting.rest())]


def written(sorted_groups: list[pa.RecordBatch], order: tuple[SortColumnSpec, ...], **options: Any) -> bytes:
    by = [(one.field, one.descending, one.nulls_first) for one in order]
    writer = native.ParquetWriter(sorted_groups[0].schema, **OPTIONS | options | {"sorted_by": by})
    pieces = [writer.write(one, pa.array(sizes_of(one), pa.int64())) for one in sorted_groups]
    return b"".join([*pieces, writer.finish()])


def test_each_nan_is_the_same() -> None:
    odd = np.array([1.0, np.nan, -np.nan, np.nan], np.float64)
    odd.view(np.int64)[3] |= 5  # another payload
    rows = pa.RecordBatch.from_arrays([pa.array(odd), pa.array([3, 2, 1, 0])], ["c0", "n"])
    assert groups([rows], (sorted_by("c0", descending=True),))[0].column(1).to_pylist() == [2, 1, 0, 3]
    assert groups([rows], (sorted_by("c0"), sorted_by("n")))[0].column(1).to_pylist() == [3, 0, 1, 2]


def _compared(order: list[tuple[SortColumnSpec, list[Any]]]) -> Any:
    """Return how rows are compared, by their places, in plain Python."""

    def key(value: Any) -> Any:
        if isinstance(value, float):
            return isnan(value), 0.0 if isnan(value) else value, 0 if isnan(value) else copysign(1, value)
        return value.encode() if isinstance(value, str) else value

    def compare(one: int, other: int) -> int:
        for by, column in order:
            left, right = column[one], column[other]
            if (left is None) != (right is None):
                return -1 if (left is None) == by.nulls_first else 1
            if left is not None and key(left) != key(right):
                return -1 if (key(left) < key(right)) != by.descending else 1
        return one - other

    return cmp_to_key(compare)


@pytest.mark.slow
@examples(60)
@given(seed=st.integers(0, 2**32))
def test_random_rows_are_sorted_as_python_sorts_them(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Whatever the batches: rows, row groups and bytes are the same, and DuckDB and pyarrow read them so."""
    chosen = random.Random(seed)
    rows = random_rows.flat(chosen, chosen.choice((1, 50, 700)), chosen.choices(random_rows.TYPES, k=3))
    names = chosen.sample(["c0", "c1", "c2", "s.f", "s.g", "row"], chosen.randint(1, 3))
    order = tuple(sorted_by(name, *(chosen.random() < 0.5 for _ in range(2))) for name in names)
    least = chosen.choice((1, 500, 1 << 30))
    found = groups([rows], order, least)
    options = {"page_index": True, "page_bytes": 100, "row_group_bytes": least}
    content = written(found, order, **options)
    assert written(groups(random_cuts(chosen, rows), order, least), order, **options) == content
    first = 0
    for group in found:
        before = rows.slice(first, group.num_rows)
        first += group.num_rows
        columns = [(by, _values(before, by.field)) for by in order]
        places = sorted(range(before.num_rows), key=_compared(columns))
        assert told(group) == told(before.take(pa.array(places)))
    assert first == rows.num_rows
    file = pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True)
    assert [file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)] == [*map(len, found)]
    assert told(file.read()) == told(pa.Table.from_batches(found))
    paths = {file.metadata.schema.column(place).path: place for place in range(file.metadata.num_columns)}
    said = [pq.SortingColumn(paths[by.field], by.descending, by.nulls_first) for by in order]
    for place in range(file.num_row_groups):
        assert [*file.metadata.row_group(place).sorting_columns] == said
    path = tmp_path_factory.mktemp("file") / "rows.parquet"
    path.write_bytes(content)
    by_duckdb = duckdb.connect(config={"threads": 1}).execute("SET TimeZone = 'UTC'").read_parquet(str(path))
    assert told(by_duckdb.to_arrow_table(), "us") == told(pa.Table.from_batches(found), "us")


def _values(rows: pa.RecordBatch, path: str) -> list[Any]:
    outer, _, inner = path.partition(".")
    found = values(rows.column(outer))
    place = 0 if inner == "f" else 1
    return [None if one is None else one[place] for one in found] if inner else found


def test_short_records_that_become_wide_rows_end_a_row_group_by_their_memory() -> None:
    """A value of two bytes may be a row of hundreds of columns."""
    wide = [pa.array([None] * 1_000, pa.int64()) for _ in range(200)]
    rows = pa.RecordBatch.from_arrays(wide, [f"c{place}" for place in range(200)])
    assert {len(one) for one in groups([rows], (sorted_by("c0"),), 100_000)} == {125}
    lists = pa.RecordBatch.from_arrays(
        [pa.array([[0] * 500] * 10, pa.list_(pa.int64())), pa.array(range(10))], ["l", "c0"]
    )
    assert [len(one) for one in groups([lists], (sorted_by("c0"),), 5_000)] == [3, 3, 3, 1]


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"c9: there is no such column to sort by"):
        written([pa.RecordBatch.from_arrays([pa.array([1])], ["c0"])], (sorted_by("c9"),))


def test_a_format_sorts_its_objects_but_not_quarantine() -> None:
    records = [Record(offset, offset, b"k%d" % (offset % 3), b"v%d" % offset) for offset in range(100)]
    settings = ParquetSpec(kafka_columns=("key", "offset"), sort_by=(sorted_by("kafka_key", descending=True),))
    made = ParquetFormat(settings)
    file = pq.ParquetFile(io.BytesIO(encode(made, [batch(records[:40]), batch(records[40:])])))
    rows = file.read().to_pylist()
    assert [row["kafka_key"] for row in rows] == sorted((row["kafka_key"] for row in rows), reverse=True)
    assert [row["kafka_offset"] for row in rows if row["kafka_key"] == b"k1"] == list(range(1, 100, 3))
    assert [*file.metadata.row_group(0).sorting_columns] == [pq.SortingColumn(1, descending=True)]
    assert made.held_back == 3 * ParquetFormat(ParquetSpec()).held_back
    empty = pq.ParquetFile(io.BytesIO(encode(made, [])))
    assert (empty.num_row_groups, empty.metadata.num_rows) == (0, 0)
    encoder = made.encoder(ObjectIdentity(Range(TopicPartition("t", 0), 0, 100), QUARANTINE))
    refused = (
        batch(records)
        .append_column("reason", pa.array(["not_json"] * 100))
        .append_column("field", pa.nulls(100, pa.string()))
    )
    pieces = [*encoder.encode(refused), *encoder.finish()]
    file = pq.ParquetFile(io.BytesIO(b"".join(map(bytes, pieces))))
    assert file.read().column("kafka_offset").to_pylist() == list(range(100))
    assert not file.metadata.row_group(0).sorting_columns
