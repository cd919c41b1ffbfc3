"""Our Parquet writer against readers that share nothing with it, pyarrow and DuckDB, and against pyarrow's writer."""

import io
import random
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import logpersister_native as native
from tests.examples import examples
from tests.unit.formats import random_rows
from tests.unit.formats.random_rows import OPTIONS, written

COMPRESSIONS: Final = {"zstd": "ZSTD", "snappy": "SNAPPY", "gzip": "GZIP", "none": "UNCOMPRESSED"}
"""And what readers call them."""
DUCKDB: Final = duckdb.connect(config={"threads": 1}).execute("SET TimeZone = 'UTC'")


def random_options(chosen: random.Random) -> dict[str, Any]:
    return {
        "compression": chosen.choice(list(COMPRESSIONS)),
        "zstd_level": chosen.choice((1, 3)),
        "row_group_bytes": chosen.choice((1_000, 30_000, 1 << 30)),
        "page_bytes": chosen.choice((16, 1_000, 1 << 20)),
        "page_index": chosen.random() < 0.5,
        "without_dictionary": chosen.choice(([], ["c0"], ["c1.f0"])),
    }


def told(rows: "pa.Table | pa.RecordBatch", unit: str | None = None) -> list[str]:
    """Return each column as text: NaN is like itself, zeros are not like each other, and times are numbers.

    `unit`: of all times and instants; None: their own, and milliseconds instead of seconds.
    """
    return [
        repr(values(one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one, unit)) for one in rows.columns
    ]


def values(array: Any, unit: Any = None) -> list[Any]:
    """Return the values of an array, read from its parts."""
    type_ = array.type
    if pa.types.is_struct(type_):
        parts = [values(array.field(place), unit) for place in range(type_.num_fields)]
        whole = zip(*parts, strict=True) if parts else ()
        return [one if valid else None for one, valid in zip(whole, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_map(type_):
        pairs = list(zip(values(array.keys, unit), values(array.items, unit), strict=True))
        return _lists(array, pairs)
    if pa.types.is_list(type_):
        return _lists(array, values(array.values, unit))
    if pa.types.is_timestamp(type_):
        finest: Any = unit or ("ms" if type_.unit == "s" else type_.unit)
        array = array.cast(pa.timestamp(finest, "UTC"), safe=False).cast(pa.int64())
    elif pa.types.is_time(type_):
        array = array.cast(pa.time64(unit)).cast(pa.int64()) if unit else array.cast(f"int{type_.bit_width}")
    elif pa.types.is_date(type_):
        array = array.cast(pa.int32())
    found: list[Any] = array.to_pylist()
    return found


def _lists(array: Any, items: list[Any]) -> list[Any]:
    ends, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
    return [items[begin:end] if one else None for (begin, end), one in zip(pairwise(ends), valid, strict=True)]


def random_cuts(chosen: random.Random, rows: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Cut rows into batches: views into the whole, and copies of their own."""
    ends = sorted(chosen.randint(0, rows.num_rows) for _ in range(chosen.randint(0, 12)))
    batches = [rows.slice(begin, end - begin) for begin, end in pairwise([0, *ends, rows.num_rows])]
    return [chosen.choice((one, one.take(pa.array(range(len(one)), pa.int64())))) for one in batches]


@pytest.mark.slow
@examples(40)
@given(seed=st.integers(0, 2**32))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """By pyarrow, with its checksums, and by DuckDB; and batches have no influence on the bytes."""
    chosen = random.Random(seed)
    schema = random_rows.columns(chosen)
    rows = random_rows.rows(chosen, schema, chosen.choice((0, 1, 7, 300, 2_000, 5_000)))
    sizes = [chosen.randint(0, 100) for _ in range(rows.num_rows)]
    options = random_options(chosen)
    content = written([rows], sizes, schema, **options)
    for _ in range(3):
        assert written(random_cuts(chosen, rows), sizes, schema, **options) == content
    file = pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True)
    assert told(file.read()) == told(rows)
    assert file.metadata.created_by.startswith("logpersister version ")
    path = tmp_path_factory.mktemp("file") / "rows.parquet"
    path.write_bytes(content)
    assert told(DUCKDB.read_parquet(str(path)).to_arrow_table(), "us") == told(rows, "us")


@examples(60)
@given(seed=st.integers(0, 2**32))
def test_the_footer_says_what_pyarrow_s_writer_says(seed: int) -> None:
    """Schema, levels, field ids, and of each column of each row group the counts and bounds."""
    chosen = random.Random(seed)
    schema = random_rows.columns(chosen)
    rows = random_rows.rows(chosen, schema, chosen.choice((1, 300, 3_000)))
    sizes = [chosen.randint(0, 100) for _ in range(rows.num_rows)]
    options = random_options(chosen)
    file = pq.ParquetFile(io.BytesIO(written(random_cuts(chosen, rows), sizes, schema, **options)))
    begin, judge = 0, io.BytesIO()
    with pq.ParquetWriter(
        judge, schema, store_schema=False, version="2.6", compression=options["compression"]
    ) as writer:
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            writer.write_batch(rows.slice(begin, count))
            begin += count
    assert begin == rows.num_rows
    expected = pq.ParquetFile(judge)
    assert file.schema.equals(expected.schema), f"{file.schema}\n{expected.schema}"
    assert file.schema_arrow.equals(expected.schema_arrow, check_metadata=True)
    for ours, other in zip(facts(file.metadata), facts(expected.metadata), strict=True):
        if ours["bounds"] is None and other["type"] in ("FLOAT", "DOUBLE"):
            other["bounds"] = None  # pyarrow leaves out NaN
        assert ours == other


def facts(metadata: pq.FileMetaData) -> list[dict[str, Any]]:
    """Return what a footer says of each column of each row group and any writer must."""
    columns: list[Any] = [
        metadata.row_group(group).column(place)
        for group in range(metadata.num_row_groups)
        for place in range(metadata.num_columns)
    ]
    return [
        {
            "path": one.path_in_schema,
            "type": one.physical_type,
            "compression": one.compression,
            "values": one.num_values,
            "nulls": one.statistics.null_count,
            "bounds": repr((one.statistics.min_raw, one.statistics.max_raw)) if one.statistics.has_min_max else None,
        }
        for one in columns
    ]


def type_of(rows: pa.RecordBatch, path: str) -> pa.DataType:
    first, *rest = path.split(".")
    found: Any = rows.schema.field(first)
    for name in rest:
        found = found.type.field(name)
    type_: pa.DataType = found.type
    return type_


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_filters_find_the_rows_that_they_find_without_statistics(tmp_path: Path, seed: int) -> None:
    """With bounds of row groups, of pages and Bloom filters, in DuckDB and in pyarrow."""
    chosen = random.Random(seed)
    rows = random_rows.flat(chosen, 4_000)
    paths = [one.name for one in rows.schema if one.name not in ("row", "s")] + ["s.f"]
    # DuckDB 1.5 looks for the text of a blob in the filter, in pyarrow's files too; and there is none for bool.
    filters = dict.fromkeys((path for path in paths if type_of(rows, path) not in (pa.bool_(), pa.binary())), 1_000)
    options = random_options(chosen) | {"row_group_bytes": 30_000, "page_index": True, "bloom_filters": filters}
    path = tmp_path / "rows.parquet"
    path.write_bytes(written([rows], [60] * rows.num_rows, rows.schema, **options))
    file, memory = DUCKDB.read_parquet(str(path)), f"memory_{seed}"
    file.create(memory)
    for column in paths:
        sample = f"SELECT typeof({column}), {column}::VARCHAR FROM {memory} USING SAMPLE 4 ROWS (reservoir, 7)"
        for type_, text in DUCKDB.sql(sample).fetchall():
            for operator in ("=", "<", ">=", "IS NOT DISTINCT FROM"):
                where = f"{column} {operator} CAST(? AS {type_})"
                queries = (f"SELECT count(*), sum(row) FROM {one} WHERE {where}" for one in (f"'{path}'", memory))
                found, expected = (DUCKDB.execute(query, [text]).fetchone() for query in queries)
                assert found == expected, f"{where}: {text}"
    table = pa.Table.from_batches([rows])
    for field in rows.schema:
        if field.name == "s" or not len(here := table.column(field.name).drop_null()):
            continue
        value = here[chosen.randrange(len(here))]
        for where in (pc.field(field.name) <= value, pc.field(field.name) > value, pc.field(field.name) == value):
            assert pq.read_table(path, filters=where).column("row") == table.filter(where).column("row")


# Ten values for the whole trial; then new ones, until the dictionary is full.
_FILLING = [*(number % 10 for number in range(70_000)), *range(400_000)]


@pytest.mark.parametrize("numbers", [_FILLING, range(200_000), [7] * 200_000], ids=["full", "unique", "one"])
def test_dictionaries_are_kept_left_and_never_begun(numbers: Sequence[int]) -> None:
    plain = pa.array(numbers, pa.int64())
    texts = pa.array([f"{number} of a longer text" for number in numbers])
    rows = pa.RecordBatch.from_arrays(
        [plain, texts, pa.array(map(Decimal, numbers), pa.decimal128(9))], ["n", "t", "d"]
    )
    sizes = [30] * rows.num_rows
    options = {"page_index": True, "bloom_filters": {"n": 1_000, "t": 1_000}, "page_bytes": 1 << 17}
    content = written([rows], sizes, rows.schema, **options)
    assert written(random_cuts(random.Random(5), rows), sizes, rows.schema, **options) == content
    file = pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True)
    assert file.read().equals(pa.Table.from_batches([rows]))
    for place in range(file.metadata.num_columns):
        column: Any = file.metadata.row_group(0).column(place)
        unique = len(set(numbers)) == len(numbers)
        assert ("RLE_DICTIONARY" in column.encodings) == (not unique), column


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (pa.uint8(), "a.b: the type UInt8"),
        (pa.timestamp("ms"), "a.b: the type Timestamp"),
        (pa.decimal128(5, -2), "a.b: the type Decimal128"),
        (pa.dictionary(pa.int32(), pa.string()), "a.b: the type Dictionary"),
    ],
    ids=str,
)
def test_types_that_no_file_has_are_refused(type_: pa.DataType, message: str) -> None:
    schema = pa.schema([pa.field("a", pa.struct([pa.field("b", type_)]))])
    with pytest.raises(ValueError, match=message):
        native.ParquetWriter(schema, **OPTIONS)


def test_arrays_that_arrow_does_not_allow_are_refused() -> None:
    """Here one whose second text ends before it begins."""
    ends = pa.array([0, 5, 1], pa.int32()).buffers()[1]
    bad = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"abcdef")])
    rows = pa.RecordBatch.from_arrays([bad], ["t"])
    with pytest.raises(pa.lib.ArrowException, match="Offset invariant failure"):
        native.ParquetWriter(rows.schema, **OPTIONS).write(rows, pa.array([1, 1], pa.int64()))
