"""What a table is told of a file's columns is what pyiceberg itself reads out of the file's footer."""

import base64
import io
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    pyarrow_to_schema,
)

from logpersister.formats.parquet.field_ids import id_paths, with_field_ids
from logpersister.formats.parquet.statistics import column_statistics, split_offsets

COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flag": (pa.bool_(), [True, False, None]),
    "tiny": (pa.int8(), [-3, 5, None]),
    "number": (pa.int32(), [-(2**31), 7, 2**31 - 1]),
    "big": (pa.int64(), [-(2**63), 0, 2**63 - 1]),
    "single": (pa.float32(), [1.5, None, -0.5]),
    "double": (pa.float64(), [1e300, float("nan"), -2.0]),
    "text": (pa.string(), ["kurz", "\u00e4" * 40, "z" * 17]),
    "highest": (pa.string(), ["\U0010ffff" * 17, "a", None]),
    "bytes": (pa.binary(), [b"\x00", b"\xff" * 20, b"\x01" * 20]),
    "day": (pa.date32(), [date(1969, 12, 31), date(2026, 11, 25), None]),
    "clock": (pa.time64("us"), [time(0, 0, 0, 1), time(23, 59, 59), None]),
    "at": (pa.timestamp("us", "UTC"), [datetime(1960, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 5, tzinfo=UTC), None]),
    "money": (pa.decimal128(9, 2), [Decimal("-1.28"), Decimal("1.27"), Decimal("327.68")]),
    "fortune": (pa.decimal128(38, 4), [Decimal(-1), Decimal("12345678901234567890.1234"), None]),
    "nothing": (pa.int32(), [None, None, None]),
    "geo": (pa.struct([pa.field("country", pa.string()), pa.field("lat", pa.float64())]), [{"country": "de"}] * 3),
    "tags": (pa.list_(pa.field("element", pa.string())), [["a"], [], None]),
    "counts": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [], None]),
}


def written(columns: dict[str, tuple[pa.DataType, list[Any]]], rows: int) -> tuple[pq.FileMetaData, pa.Schema]:
    schema = pa.schema([pa.field(name, type_) for name, (type_, _) in columns.items()])
    numbered = with_field_ids(schema, {path: number for number, path in enumerate(id_paths(schema), 1)})
    arrays = [pa.array(values, type_) for type_, values in columns.values()]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema).cast(numbered), sink, row_group_size=rows, version="2.6")
    return pq.read_metadata(sink), numbered


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 3], ids=["three row groups", "one row group"])
def test_bounds_and_counts_are_those_of_iceberg(rows: int) -> None:
    metadata, schema = written(COLUMNS, rows)
    numbers = {path: number for number, path in enumerate(id_paths(schema), 1)}
    found = column_statistics(metadata, schema, numbers)
    iceberg = pyarrow_to_schema(schema)
    judge = data_file_statistics_from_parquet_metadata(
        parquet_metadata=metadata,
        stats_columns=compute_statistics_plan(iceberg, {}),
        parquet_column_mapping=parquet_path_to_id_mapping(iceberg),
    ).to_serialized_dict()
    assert {int(number): one["size"] for number, one in found.items()} == judge["column_sizes"]
    assert split_offsets(metadata) == judge["split_offsets"]
    names = {number: path for path, number in numbers.items()}
    repeated = {number for number, path in names.items() if path.startswith(("tags", "counts"))}
    for number, one in ((int(number), one) for number, one in found.items()):
        name = names[number]
        assert one["values"] == judge["value_counts"][number], name
        if number not in repeated:
            assert one["nulls"] == judge["null_value_counts"][number], name
        for bound, expected in (("lower", judge["lower_bounds"]), ("upper", judge["upper_bounds"])):
            if number in repeated:
                assert bound not in one
            elif name.startswith("geo."):
                assert number not in expected, "pyiceberg itself has none of members of structs; other writers do"
                assert (bound in one) == (name == "geo.country")
            elif bound in one:
                assert base64.b64decode(one[bound]) == expected[number], (name, bound)
            else:
                assert name in ("nothing", "highest", "bytes", "single", "double"), (name, bound)


def test_floats_have_no_bounds_because_nobody_knows_of_nan() -> None:
    """A reader that finds bounds and no count of NaN deletes a file of rows as a whole, and NaN with it."""
    metadata, schema = written({"lat": (pa.float64(), [1.0, float("nan")])}, 2)
    assert column_statistics(metadata, schema, {"lat": 1})["1"].keys() == {"size", "values", "nulls"}


def test_times_beyond_microseconds_have_no_bound() -> None:
    far = pa.array([0, 2**62]).cast(pa.timestamp("ms", "UTC"))
    sink = io.BytesIO()
    schema = with_field_ids(pa.schema([pa.field("at", far.type)]), {"at": 1})
    pq.write_table(pa.Table.from_arrays([far], schema=schema), sink, version="2.6")
    [one] = column_statistics(pq.read_metadata(sink), schema, {"at": 1}).values()
    assert base64.b64decode(one["lower"]) == bytes(8)
    assert "upper" not in one


@pytest.mark.parametrize(
    ("text", "upper"),
    [("\ud7ff" * 20, "\ud7ff" * 15 + "\ue000"), ("a" * 15 + "\U0010ffff" * 2, "a" * 14 + "b"), ("z" * 16, "z" * 16)],
)
def test_an_upper_bound_is_a_text_above_all_that_begin_alike(text: str, upper: str) -> None:
    """Pyiceberg itself makes a half of a surrogate pair of the first."""
    metadata, schema = written({"text": (pa.string(), [text])}, 1)
    [one] = column_statistics(metadata, schema, {"text": 1}).values()
    assert base64.b64decode(one["upper"]).decode() == upper
    assert upper >= text
