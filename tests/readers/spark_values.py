"""Random values of JSON as Spark reads them by ``from_json``, and where rows differ from that."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import hypothesis
import pyarrow as pa
from hypothesis import strategies as st
from pyspark.sql import Column, SparkSession, functions

from logpersister.schemas.types import parse_type
from logpersister.values.json.rows import JsonRows
from logpersister.values.reading.parsers import Parsed
from tests.examples import examples
from tests.readers.arrow import rows_of
from tests.readers.others import spark_type
from tests.unit.records.row_samples import LEAVES, batch_of_values, written
from tests.unit.records.test_rows import schema_of

TYPES: Final = [
    *(leaf for leaf in LEAVES if leaf != "json" and not leaf.startswith("time[")),
    "list<int32>",
    "map<string, float64>",
    "struct<a: int8, b: string not null>",
]
"""What Spark has, too. It takes any JSON for text, written anew: not what `json` is."""

WIDER: Final[Mapping[tuple[str, str], tuple[str, str, Any]]] = {
    ("int8", "overflow"): ("int8", "188", -68),
    ("float32", "overflow"): ("float32", "1e39", "inf"),
    ("float64", "overflow"): ("float64", "1e400", "inf"),
    ("string", "wrong_type"): ("string", "1.50", "1.5"),
    ("string", "bad_text"): ("string", '"\\ud83d"', "?"),
    ("date", "bad_text"): ("date", '"7"', 7),
    ("date", "overflow"): ("date", '"0000-01-01"', -719_528),
    ("binary", "bad_text"): ("binary[base64]", '"AB=="', b"\0"),
    ("timestamp", "bad_text"): ("timestamp[us]", '"2026-11-21T5:00:00+0100"', 1_795_233_600 * 10**9),
    ("timestamp", "wrong_type"): ("timestamp[ms]", "-1", -(10**9)),
    ("timestamp", "overflow"): ("timestamp[ms]", '"0000-01-01T00:00:00Z"', -62_167_219_200 * 10**9),
    ("decimal", "overflow"): ("decimal(10,2)", "1.505", "1.51"),
    ("map", "duplicate"): ("map<string, float64>", '{"a": 1, "a": 2}', {"a": float(2).hex()}),
    ("map", "overflow"): ("map<string, float64>", '{"a": 1e400}', {"a": "inf"}),
    ("struct", "missing"): ("struct<a: int8, b: string not null>", '{"a": 1}', {"a": 1, "b": None}),
    ("struct", "wrong_type"): ("struct<a: int8, b: string not null>", '{"a": "1", "b": 2}', {"a": None, "b": "2"}),
    ("struct", "overflow"): ("struct<a: int8, b: string not null>", '{"a": 300, "b": ""}', {"a": None, "b": ""}),
    ("struct", "bad_text"): ("struct<a: int8, b: string not null>", '{"b": "\\ud83d"}', {"a": None, "b": "?"}),
    ("struct", "duplicate"): ("struct<a: int8, b: string not null>", '{"b": "", "b": "x"}', {"a": None, "b": "x"}),
}
"""By type and reason, what is refused here and is a value in Spark: a type, a value and what Spark makes of it."""
NARROWER: Final[Sequence[tuple[str, str]]] = (
    ("timestamp[us]", '"2026-11-21t05:00:00Z"'),
    ("timestamp[us]", '"2026-11-21T05:00:00z"'),
    ("timestamp[us]", '"2026-11-21T05:00:00+23:59"'),
)
"""Values that are null in Spark, and none here."""
_NARROWER: Final = re.compile(r'\dt\d|z"|[+-]2\d:')

_FINER: Final = {"s": 10**9, "ms": 10**6}


def drawn(strategy: "st.SearchStrategy[Any]", count: int) -> list[Any]:
    """Return samples: as many, and as random, as those of a search by `examples`."""
    found: list[Any] = []

    @examples(count, phases=[hypothesis.Phase.generate])
    @hypothesis.given(strategy)
    def collect(one: Any) -> None:
        found.append(one)

    collect()
    return found


def columns_by_spark(
    spark: SparkSession, columns: Sequence[Sequence[bytes]], read: Sequence[Callable[[Column], Column]]
) -> list[list[Any]]:
    """Return what Spark makes of values, by column; `read` makes a struct of each column."""
    longest = max(map(len, columns))
    table = pa.table(
        {
            f"c{place}": pa.array([*one, *[None] * (longest - len(one))], pa.binary())
            for place, one in enumerate(columns)
        }
    )
    frame = spark.createDataFrame(table)
    found = frame.select([of(functions.col(f"c{place}")).alias(f"c{place}") for place, of in enumerate(read)]).toArrow()
    rows = rows_of(found)
    return [[row[f"c{place}"] for row in rows[: len(one)]] for place, one in enumerate(columns)]


def assert_json_like_spark(spark: SparkSession, samples: int) -> None:
    """Compare values of each type, random ones and those of the tables."""
    texts: dict[str, list[str]] = {one: drawn(written(parse_type(one), None), samples) for one in TYPES}
    for type_, text, _ in WIDER.values():
        texts[type_].append(text)
    for type_, text in NARROWER:
        texts[type_].append(text)
    documents = {type_: [b'{"f": %s}' % one.encode() for one in some] for type_, some in texts.items()}
    readers = [partial(_from_json, type_) for type_ in TYPES]
    found = columns_by_spark(spark, [*documents.values()], readers)
    by_value: dict[tuple[str, str], Any] = {}
    for (type_, values), theirs in zip(documents.items(), found, strict=True):
        accepted, refused = judged(JsonRows(schema_of(("f", type_)), "drop").parse(batch_of_values([*values])))
        for place, row in enumerate(theirs):
            read = None if row is None else row["f"]
            by_value[type_, texts[type_][place]] = read
            if place in refused:
                kind = re.split(r"[\[(<]", type_)[0]
                assert read is None or (kind, refused[place]) in WIDER, (type_, values[place], refused[place], read)
                continue
            ours = accepted[place]["f"]
            if read is None and ours is not None:
                assert _NARROWER.search(texts[type_][place]), (type_, values[place], ours)
                continue
            assert _as_in(type_, read) == _as_in(type_, ours), (type_, values[place], ours, read)
    for type_, text, read in WIDER.values():
        told = by_value[type_, text]
        assert (str(told) if type_.startswith("decimal") else told) == read, (type_, text, told)
    assert [by_value[one] for one in NARROWER] == [None] * len(NARROWER)


def _from_json(type_: str, column: Column) -> Column:
    return functions.from_json(column.cast("string"), f"f {spark_type(type_)}", {"mode": "PERMISSIVE"})


def judged(parsed: Parsed) -> tuple[dict[int, Any], dict[int, str]]:
    """Return rows and reasons of refusal by place."""
    assert parsed.rows is not None
    refused = {}
    if parsed.refused is not None:
        refused = dict(zip(parsed.refused.rows.tolist(), parsed.refused.reasons.to_pylist(), strict=True))
    rows = rows_of(pa.Table.from_batches([pa.RecordBatch.from_struct_array(parsed.rows)]))
    accepted = [place for place in range(len(rows) + len(refused)) if place not in refused]
    return dict(zip(accepted, rows, strict=True)), refused


def _as_in(type_: str, value: Any) -> Any:
    """Return a value without what Spark has not: the sign of ``-0``, and units of instants other than microseconds."""
    if value is None:
        return None
    if type_.startswith("timestamp["):
        unit = _FINER.get(type_[10:-1], 1000)
        return value // unit
    return json.loads(json.dumps(value, default=str).replace('"-0x0.0p+0"', '"0x0.0p+0"'))
