"""Format parquet: rows and refused values in whatever batches they come, and what its files look like."""

import io
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats.parquet.settings import BloomFilterSpec, ParquetSpec
from logpersister.formats.parquet.write import ParquetFormat
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.records.escaping import QUARANTINE
from logpersister.values.field import FieldSpec
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from tests.examples import examples
from tests.unit.formats.events import EVERYTHING, RECORDS, SCHEMA, assert_quarantined, files
from tests.unit.formats.samples import Record, batch, cut, encode, settings_of


def output_of(**parquet: Any) -> OutputSpec:
    settings = {"kafkaColumns": EVERYTHING, "rowGroupBytes": "64Ki"} | parquet
    return OutputSpec.of("parquet", **settings)


WHOLE = files(output_of(), [batch(RECORDS)])


@examples(12)
@given(st.lists(st.integers(0, len(RECORDS)), max_size=30))
def test_cutting_rows_otherwise_gives_the_same_bytes(cuts: list[int]) -> None:
    assert files(output_of(), cut(batch(RECORDS), cuts)) == WHOLE


def read(content: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(content))


def test_options_of_columns_reach_the_files_and_change_no_row() -> None:
    options = {
        "withoutDictionary": ["tags", "kafka_key"],
        "bloomFilters": [{"field": "text", "distinct": 50}, {"field": "kafka_key"}],
        "pageBytes": "16Ki",
        "pageIndex": True,
    }
    written = files(output_of(**options), [batch(RECORDS)])
    assert files(output_of(**options), cut(batch(RECORDS), range(0, 2500, 70))) == written
    assert read(written[""]).equals(read(WHOLE[""]))
    assert read(written[QUARANTINE]).equals(read(WHOLE[QUARANTINE]))
    group = pq.ParquetFile(io.BytesIO(written[""])).metadata.row_group(0)
    columns: list[Any] = [group.column(number) for number in range(group.num_columns)]
    with_dictionary = {one.path_in_schema for one in columns if "RLE_DICTIONARY" in one.encodings}
    assert with_dictionary >= {"text", "kafka_topic", "kafka_partition"}
    assert not with_dictionary & {"tags.list.element", "kafka_key"}
    assert {one.path_in_schema for one in columns if one.bloom_filter_offset} == {"text", "kafka_key"}
    assert all(one.has_column_index and one.has_offset_index for one in columns)
    refused = pq.ParquetFile(io.BytesIO(written[QUARANTINE])).metadata.row_group(0)
    key: Any = refused.column(refused.num_columns - 1)
    assert key.bloom_filter_offset


@pytest.mark.parametrize("distinct", [1, 100, 50_000, 65_536, 1_000_000])
def test_what_filters_take_is_held_back(distinct: int) -> None:
    filters = (BloomFilterSpec(field="value", distinct=distinct), BloomFilterSpec(field="kafka_key", distinct=7))
    plain = ParquetSpec(kafka_columns=("key",))
    filtered = ParquetSpec(kafka_columns=("key",), bloom_filters=filters)
    more, records = len(filters) * 60, [batch([Record(1, 5, b"key", b"value")])]  # header, and where it stands
    in_file = [len(encode(ParquetFormat(settings), records)) for settings in (filtered, plain)]
    held_back = ParquetFormat(filtered).held_back - ParquetFormat(plain).held_back
    assert 0 <= in_file[0] - in_file[1] - held_back < more


def test_quarantine_keeps_what_is_needed_to_put_records_right() -> None:
    assert_quarantined(read(files(output_of(kafkaColumns=[]), [batch(RECORDS)])[QUARANTINE]).to_pylist())


@pytest.mark.parametrize(("schema", "first"), [(AS_THEY_ARE, "value"), (SCHEMA, "n")], ids=["values", "rows"])
def test_a_file_without_rows_has_its_columns(schema: RowSchema, first: str) -> None:
    nothing = files(output_of(), [batch([Record(1, 5, b"a", None)])], schema)[""]
    assert (read(nothing).num_rows, read(nothing).column_names[0]) == (0, first)


@pytest.mark.parametrize(
    "others", [[], [Record(2, 5, b"b", b'{"s": {"b": {"t": "x", "at": "2026-11-21", "n": [], "d": 1}}}')]]
)
def test_a_tombstone_may_be_a_row_of_structs_with_required_fields(others: list[Record]) -> None:
    required = "struct<t: string not null, at: date not null, n: list<int8> not null, d: decimal(38,2) not null>"
    schema = RowSchema(fields=(FieldSpec(name="s", type=f"struct<a: {required}, b: {required} not null>"),))
    few = [batch([Record(1, 5, b"a", None), *others])]
    stored = files(output_of(tombstones="null"), few, schema)
    assert read(stored[""]).column("s").is_valid().to_pylist() == [False, *(True for _ in others)]


@examples(60)
@given(st.lists(st.integers(0, 60), max_size=60), st.lists(st.integers(0, 60), max_size=9), st.integers(1, 100))
def test_row_groups_end_with_the_record_that_fills_them(sizes: list[int], cuts: list[int], least: int) -> None:
    rows = batch([Record(number, 5, None, b"v" * size) for number, size in enumerate(sizes)])
    metadata = pq.read_metadata(
        io.BytesIO(encode(ParquetFormat(settings_of(ParquetSpec(), row_group_bytes=least)), cut(rows, cuts)))
    )
    counts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sum(counts) == metadata.num_rows == len(sizes)
    groups = [sizes[end - count : end] for count, end in zip(counts, accumulate(counts), strict=True)]
    for group in groups[:-1]:
        assert sum(group) >= least > sum(group[:-1])
    assert sum(size for group in groups[-1:] for size in group[:-1]) < least
