"""Files of every format, compression and nested type, read by other projects: all of them must give the same rows."""

import json
import random
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession, functions, types

from logpersister.formats.registry import make_format
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.records.escaping import QUARANTINE
from logpersister.values.parser import Parsing
from logpersister.values.reading.columns import row_columns
from tests.formats_of_output import COMPRESSIONS
from tests.readers.arrow import rows_of
from tests.readers.others import by_duckdb, by_fastavro, by_pyarrow, by_spark, data_frame, duckdb_rows
from tests.readers.typed_rows import LEAVES, ROWS, Column, columns, documents, plain_rows
from tests.unit.formats.events import files
from tests.unit.formats.random_rows import flat
from tests.unit.formats.random_rows import written as parquet_of
from tests.unit.formats.samples import Record, batch, encode, with_headers
from tests.unit.records.test_rows import schema_of

Leaf = Callable[[Any], Any]
Read = Callable[[str, Path, Sequence[Column]], list[Any]]

REFUSED: Final = "refused"
"""Of a type: a file with a column of it cannot be read."""


def _microseconds(nanoseconds: int) -> int:
    return nanoseconds // 1000 * 1000


def _towards_1970(nanoseconds: int) -> int:
    return nanoseconds // 1000 * 1000 if nanoseconds > 0 else -(-nanoseconds // 1000 * 1000)


def _unscaled(number: Decimal) -> bytes:
    """Return what a reader that does not know decimals of Avro gives: the bytes in which they are."""
    sign, digits, _ = number.as_tuple()
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    return whole.to_bytes((whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True)


def _whole(nanoseconds: int) -> int:
    """Return an instant as files of ORC have it: before 1970 in whole seconds."""
    return nanoseconds // 10**9 * 10**9 if nanoseconds < 0 else nanoseconds


def _after_the_gap(days: int) -> int:
    """Return a date as Spark reads it from ORC: the ten days that the Julian calendar has not are those after them."""
    return days + 10 if days in range(-141_437, -141_427) else days


def _of_orc_by_spark(nanoseconds: int) -> int:
    days, time = divmod(_whole(nanoseconds), 86_400 * 10**9)
    return _microseconds(_after_the_gap(days) * 86_400 * 10**9 + time)


_TIMESTAMPS: Final = [leaf for leaf in LEAVES if leaf.startswith("timestamp")]
_NO_TIME: Final = {"time[ms]": REFUSED, "time[us]": REFUSED}
OTHERWISE: Final[Mapping[tuple[str, str], Mapping[str, str | Leaf]]] = {
    ("parquet", "spark"): _NO_TIME | {"timestamp[ns]": REFUSED},
    ("parquet", "duckdb"): {"timestamp[ns]": _towards_1970},
    ("orc", "spark"): dict.fromkeys(_TIMESTAMPS, _of_orc_by_spark) | {"date": _after_the_gap},
    ("orc", "pyarrow"): dict.fromkeys(_TIMESTAMPS, REFUSED)
    | {"timestamp[ns]": _whole},  # for years beyond 1677 to 2262
    ("avro", "spark"): {"time[ms]": lambda nanoseconds: nanoseconds // 10**6, "time[us]": REFUSED},
    ("avro", "duckdb"): {leaf: _unscaled for leaf in LEAVES if leaf.startswith("decimal")},
    ("jsonl", "spark"): _NO_TIME | {"timestamp[ns]": _microseconds},
    ("jsonl", "duckdb"): {
        "timestamp[ns]": _microseconds,
        "binary[base64]": lambda content: b64encode(content).decode(),
        "json": lambda text: text.replace("1.50", "1.5"),
        "decimal(18,18)": REFUSED,  # it reads numbers of JSON as doubles
        "decimal(38,38)": REFUSED,
    },
}
"""By format and reader: the types that a reader does not give as they are, as docs/schemas.md says."""

READERS: Final[Mapping[str, Sequence[str]]] = {
    "parquet": ("spark", "duckdb", "pyarrow"),
    "avro": ("spark", "duckdb", "fastavro"),
    "jsonl": ("spark", "duckdb"),
    "orc": ("spark", "pyarrow"),
}
WITHOUT: Final = {("avro", "duckdb"): ("zstd",)}
"""Compressions for which readers have no library of their own."""
_SMALL: Final = {"rowGroupBytes": "64Ki", "pageBytes": "16Ki"}
_INDEXED: Final = {"pageIndex": True, "withoutDictionary": ["pair_string"], "bloomFilters": [{"field": "plain_int64"}]}
SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "parquet": _SMALL,
    "avro": {},
    "jsonl": {},
    "orc": {"stripeBytes": "64Ki"},
}
"""By which files have several row groups, if the format has some."""
CASES: Final = [
    *(
        (file_format, compression, SETTINGS[file_format])
        for file_format in READERS
        for compression in COMPRESSIONS[file_format]
    ),
    ("parquet", "zstd", _SMALL | _INDEXED),
]


VECTORISED: Final = ("parquet", "orc")


@pytest.fixture
def readers(spark: SparkSession) -> Mapping[str, Read]:
    return {"spark": partial(by_spark, spark), "duckdb": by_duckdb, "pyarrow": by_pyarrow, "fastavro": by_fastavro}


def output_of(file_format: str, compression: str, settings: Mapping[str, Any]) -> OutputSpec:
    return OutputSpec.model_validate({file_format: {"compression": compression, **settings}})


def written(folder: Path, output: OutputSpec, chosen: Sequence[Column]) -> Path:
    """Write the typed rows as a member does."""
    schema = schema_of(*((one.name, one.type) for one in chosen))
    records = batch([Record(number, 5, None, value) for number, value in enumerate(documents(chosen))])
    (content,) = files(output, [records], schema).values()
    file = folder / f"rows{make_format(output).extension}"
    file.write_bytes(content)
    return file


def expected(file_format: str, reader: str, chosen: Sequence[Column]) -> list[Any]:
    """Return what a reader should give."""
    otherwise = OTHERWISE.get((file_format, reader), {})

    def leaf(type_: str, value: Any) -> Any:
        read = otherwise.get(type_)
        return read(value) if callable(read) else value

    return plain_rows(chosen, leaf)


def leaves_of(file_format: str) -> list[str]:
    """Return the types that a format can have."""
    return [leaf for leaf in LEAVES if file_format != "orc" or not leaf.startswith("time[")]


def read_by(file_format: str, reader: str) -> list[str]:
    """Return the types of a format that a reader can read."""
    return [leaf for leaf in leaves_of(file_format) if reader not in refusing(file_format, leaf)]


def refusing(file_format: str, leaf: str) -> list[str]:
    """Return the readers that cannot read a type."""
    return [one for one in READERS[file_format] if OTHERWISE.get((file_format, one), {}).get(leaf) == REFUSED]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join([*case[:2], *list(case[2])[2:3]]))
def test_rows_of_every_type(
    readers: Mapping[str, Read], tmp_path: Path, case: tuple[str, str, Mapping[str, Any]]
) -> None:
    file_format, compression, settings = case
    for name in READERS[file_format]:
        if compression in WITHOUT.get((file_format, name), ()):
            continue
        chosen = columns(read_by(file_format, name))
        file = written(tmp_path, output_of(file_format, compression, settings), chosen)
        found, rows = readers[name](file_format, file, chosen), expected(file_format, name, chosen)
        assert len(found) == ROWS
        for one in chosen:
            assert [row[one.name] for row in found] == [row[one.name] for row in rows], (name, one)


@pytest.mark.parametrize("file_format", VECTORISED)
def test_rows_by_vectors(spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    """Spark has another reader for few columns, which takes whole vectors of them."""
    leaves = read_by(file_format, "spark")
    chosen = columns(leaves)
    output = output_of(file_format, COMPRESSIONS[file_format][0], SETTINGS[file_format])
    frame = data_frame(spark, file_format, written(tmp_path, output, chosen))
    for place in range(0, len(leaves), 3):
        few = [one for one in chosen if one.leaf in leaves[place : place + 3]]
        found = frame.select([one.name for one in few])
        assert "Batched: true" in found._jdf.queryExecution().toString()
        assert rows_of(found.toArrow()) == expected(file_format, "spark", few)


def test_orc_in_other_zones_and_with_filters(spark: SparkSession, tmp_path: Path) -> None:
    """The same instants wherever Spark runs, and each value is found by what files say of columns."""
    leaves = ["timestamp[ms]", "timestamp[us]", "date", "decimal(10,2)", "int64", "string", "float64"]
    chosen = [one for one in columns(leaves) if one.shape == "plain"]
    frame = data_frame(spark, "orc", written(tmp_path, output_of("orc", "zstd", {}), chosen))
    rows = expected("orc", "spark", chosen)
    zones = spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        zones.setDefault(zones.getTimeZone("America/New_York"))
        found = rows_of(frame.toArrow())
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        zones.setDefault(zones.getTimeZone("UTC"))
    for one in chosen:
        for row, other in zip(found, rows, strict=True):
            is_old = one.leaf.startswith("timestamp") and (row[one.name] or 0) < -2_208_988_800 * 10**9  # 1900
            assert is_old or row[one.name] == other[one.name]
        value = frame.where(f"{one.name} is not null").first()[one.name]  # type: ignore[index]
        assert frame.where(frame[one.name] == value).count() == [row[one.name] for row in rows].count(
            next(row[one.name] for row in rows if row[one.name] is not None)
        )


def test_spark_finds_the_rows_that_it_finds_without_statistics(spark: SparkSession, tmp_path: Path) -> None:
    """By bounds of row groups and of pages, and by Bloom filters. For sums it reads all rows."""
    types: list[pa.DataType] = [pa.bool_(), pa.int8(), pa.int64(), pa.float64(), pa.string(), pa.binary(), pa.date32()]
    types += [pa.timestamp("us", "UTC"), pa.decimal128(5, 2), pa.decimal128(38, 10)]
    rows = flat(random.Random(5), 4_000, types)
    filters = {f"c{place}": 1_000 for place, one in enumerate(types) if one != pa.bool_()}
    options = {"page_index": True, "page_bytes": 2_000, "row_group_bytes": 60_000, "bloom_filters": filters}
    file = tmp_path / "rows.parquet"
    file.write_bytes(parquet_of([rows], [60] * rows.num_rows, rows.schema, **options))
    frame = spark.read.parquet(str(file))
    conditions = []
    for name in [*(f"c{place}" for place in range(len(types))), "s.g"]:
        column = functions.col(name)
        is_binary = dict(frame.dtypes).get(name) == "binary"
        there = frame.where(column.isNotNull() & (functions.col("row") > 2_500)).select(
            functions.hex(column) if is_binary else column
        )
        text = there.select(functions.col(there.columns[0]).cast("string")).first()
        if text is not None:
            type_ = frame.select(column).dtypes[0][1]
            value = functions.unhex(functions.lit(text[0])) if is_binary else functions.lit(text[0]).cast(type_)
            conditions += [column == value, column < value]
    assert len(conditions) > 15
    whole = frame.agg(*(functions.sum(functions.when(one, functions.col("row") + 1)) for one in conditions)).first()
    assert whole is not None
    for condition, rows_of_all in zip(conditions, whole, strict=True):
        found = frame.where(condition).agg(functions.sum(functions.col("row") + 1)).first()
        assert found is not None
        assert found[0] == rows_of_all, condition


def test_spark_reads_sorted_files_by_field_ids(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the names: columns are renamed, added and removed between files, and each keeps its number."""
    ids = {"id": 1, "user": 2, "user.name": 3, "tags": 4, "tags.element": 5}
    versions = [
        ([("id", "int64"), ("user", "struct<name: string>"), ("tags", "list<int8>")], ids),
        ([("name", "string"), ("number", "int64")], {"name": 6, "number": 1}),
    ]
    rows: list[dict[str, Any]] = [
        {"id": number % 7, "user": {"name": f"n{number}"}, "tags": [number]} for number in range(50)
    ]
    later: list[dict[str, Any]] = [{"name": f"m{number}", "number": 100 - number} for number in range(50)]
    for place, ((fields, numbers), values) in enumerate(zip(versions, (rows, later), strict=True)):
        schema = schema_of(*fields)
        by = {"field": "id" if place == 0 else "number", "order": "descending"}
        settings = {"sortBy": [by], "fieldIds": [{"field": name, "id": one} for name, one in numbers.items()]}
        made = make_format(output_of("parquet", "zstd", settings), Parsing(type="json"), schema)
        table = pa.Table.from_pylist(values, row_columns(schema))
        row = pa.StructArray.from_arrays([one.combine_chunks() for one in table.columns], fields=list(table.schema))
        records = batch([Record(number, 0, None, b"{}") for number in range(50)]).append_column("row", row)
        (tmp_path / f"{place}.parquet").write_bytes(encode(made, [records]))

    def by_id(name: str, type_: types.DataType, number: int) -> types.StructField:
        return types.StructField(name, type_, metadata={"parquet.field.id": number})

    name = by_id("called", types.StringType(), 3)
    wanted = [by_id("key", types.LongType(), 1), by_id("person", types.StructType([name]), 2)]
    wanted += [by_id("labels", types.ArrayType(types.ByteType()), 4), by_id("title", types.StringType(), 6)]
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    try:
        frame = spark.read.schema(types.StructType(wanted)).parquet(str(tmp_path))
        found = [(key, who and tuple(who), tags, title) for key, who, tags, title in frame.collect()]
        few = frame.where("key = 99 or key = 3").count()
    finally:
        spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")
    expected: list[Any] = [(one["id"], (one["user"]["name"],), one["tags"], None) for one in rows]
    expected += [(one["number"], None, None, one["name"]) for one in later]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert few == 1 + sum(one["id"] == 3 for one in rows)
    (first,) = duckdb_rows(f"select list(id) as ids from read_parquet('{tmp_path}/0.parquet')")
    assert first["ids"] == sorted((one["id"] for one in rows), reverse=True)


MILLISECONDS: Final = 1_795_237_200_123
RECORDS: Final = [
    Record(100, MILLISECONDS, b"k", b"value"),
    Record(101, -1, None, bytes(range(256))),
    Record(105, 0, b"", b""),
    Record(106, -1000, bytes(range(256)), None),
    Record(2**40, 2**41, b"k", "\u00e4\n".encode()),
]
"""With any bytes, and without: key, time, value."""
HEADERS: Final[Sequence[Sequence[tuple[bytes, bytes | None]]]] = [[(b"trace", b"1"), (b"\xff", None)], [], [(b"", b"")]]
KAFKA: Final = ["topic", "partition", "offset", "timestamp", "key", "headers"]


def _record(number: int) -> dict[str, Any]:
    """Return a record as readers must give it."""
    one = RECORDS[number]
    headers = HEADERS[number] if number < len(HEADERS) else []
    return {
        "value": one.value,
        "kafka_topic": "clicks",
        "kafka_partition": 3,
        "kafka_offset": one.offset,
        "kafka_timestamp": None if one.timestamp == -1 else one.timestamp * 10**6,
        "kafka_key": one.key,
        "kafka_headers": [{"key": key, "value": value} for key, value in headers],
    }


@pytest.mark.parametrize("file_format", [one for one in READERS if one != "jsonl"])
def test_all_of_a_record(readers: Mapping[str, Read], tmp_path: Path, file_format: str) -> None:
    """Values as they are, and everything else that Kafka has; lines of JSON have text in place of bytes."""
    settings = {"kafkaColumns": KAFKA, "tombstones": "null"}
    made = make_format(output_of(file_format, COMPRESSIONS[file_format][0], settings))
    file = tmp_path / f"records{made.extension}"
    file.write_bytes(encode(made, [with_headers(batch(RECORDS), HEADERS)]))
    for name in READERS[file_format]:
        assert readers[name](file_format, file, ()) == [_record(number) for number in range(len(RECORDS))], name


@pytest.mark.parametrize("compression", COMPRESSIONS["text"])
def test_text(spark: SparkSession, tmp_path: Path, compression: str) -> None:
    lines = [f"line {number} \u00e4\u20ac".encode() for number in range(5000)]
    made = make_format(output_of("text", compression, {}))
    file = tmp_path / f"lines{made.extension}"
    file.write_bytes(encode(made, [batch([Record(at, 5, None, line) for at, line in enumerate(lines)])]))
    assert [row.value.encode() for row in spark.read.text(str(file)).collect()] == lines
    columns = "columns = {'line': 'varchar'}, delim = '\x01', quote = '', escape = '', header = false"
    found = duckdb.sql(f"from read_csv('{file}', {columns})").fetchall()
    assert [line.encode() for (line,) in found] == lines


@pytest.mark.parametrize("folder", ["", "dt=2026-11-21"], ids=["no-folders", "by-day"])
def test_spark_passes_over_quarantine(spark: SparkSession, tmp_path: Path, folder: str) -> None:
    """When it reads a topic; and it reads quarantine when that is named, as docs/quarantine.md says."""
    topic = tmp_path / "clicks"
    for path, text in ((folder, "good\n"), (QUARANTINE, "bad\n")):
        (topic / path).mkdir(parents=True, exist_ok=True)
        (topic / path / "1_0_00000000000000000000.txt").write_text(text)

    def values(path: Path) -> list[str]:
        return [row.value for row in spark.read.text(str(path)).collect()]

    assert (values(topic), values(topic / QUARANTINE)) == (["good"], ["bad"])
    lines = spark.sparkContext.textFile  # Hadoop's input formats
    assert lines(f"{topic}/*" if folder else f"{topic}/*.txt").collect() == ["good"]
    assert lines(f"{topic}/{QUARANTINE}/*").collect() == ["bad"]


VALUES: Final = [
    "de", "K\u00f6ln S\u00fcd", "\u6771\u4eac", "\u041c\u043e\u0441\u043a\u0432\u0430", "\U0001f600", "e\u0301",
    "a/b", "100%", "%2F", "%C3%B6", "a=b", "a+b", "x:y", "UPPER", "~x", "'q'", '"', "\\", "{x}", "a\tb", "..", " ",
    "x\u00a0y", "\u202e",
]  # fmt: skip
"""Of folders: other scripts and spaces, and what separates, escapes or quotes somewhere."""


def _by_rule_of_hive(name: str) -> str:
    """Return the value of a folder as Hive and Trino read it (`unescapePathName`): each `%XX` is one character."""
    return re.sub("%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), name)


def test_the_value_of_a_folder_is_the_value_that_was_written(spark: SparkSession, tmp_path: Path) -> None:
    """Read by Spark, DuckDB and pyarrow as they find folders by themselves, and by the rule of Hive and Trino."""
    schema = schema_of(("place", "string"))
    output = OutputSpec.model_validate(
        {"parquet": {}, "partitionBy": [{"field": "place", "prefix": "p="}, {"date": {"granularity": "year"}}]}
    )
    rows = [json.dumps({"place": one}).encode() for one in [*VALUES, None]]
    stored = batch([Record(number, 1_795_237_200_000, None, row) for number, row in enumerate(rows)])
    folders = set()
    for path, content in files(output, [stored], schema).items():
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "1.parquet").write_bytes(content)
        folders.add(_by_rule_of_hive(path.removesuffix("/year=2026").removeprefix("p=")))
    expected = sorted((one, one) for one in VALUES)
    assert folders == {*VALUES, "__HIVE_DEFAULT_PARTITION__"}
    read = spark.read.schema("place string, p string, year int").parquet(str(tmp_path)).collect()
    assert {row.year for row in read} == {2026}
    by_spark_ = [(row.p, row.place) for row in read]
    dataset = pa.dataset.dataset(tmp_path, partitioning="hive")
    by_pyarrow_ = [(row["p"], row["place"]) for row in dataset.to_table().to_pylist()]
    query = f"select p, place from read_parquet('{tmp_path}/*/*/*.parquet', hive_partitioning = true)"
    by_duckdb_ = duckdb.sql(query).fetchall()
    for found in (by_spark_, by_pyarrow_, by_duckdb_):
        assert sorted((p, place) for p, place in found if place is not None) == expected
        assert [p for p, place in found if place is None] in ([None], ["__HIVE_DEFAULT_PARTITION__"])
