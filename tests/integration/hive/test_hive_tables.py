"""Hive tables in a real metastore, read by Spark from S3: every type and format, every folder."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pytest

from logpersister.formats.registry import make_format
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.secrets import Secrets
from logpersister.member.hive_tables import topic_opener
from logpersister.records.field_paths import NULL, name_of
from logpersister.tables.hive.columns import columns_of
from logpersister.tables.hive.duty import RegisteredTopic
from logpersister.tables.hive.folders import partition_of
from tests.readers.spark_sql import SparkSql
from tests.readers.typed_rows import LEAVES, ROWS, Column, columns, documents, mapped, plain_rows
from tests.stack import HiveMetastore
from tests.unit.formats.events import files
from tests.unit.formats.samples import Record, batch, encode
from tests.unit.manifest.documents import accepted

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


DAY: Final = {"date": {"granularity": "day"}}
FOLDER: Final = "dt=2026-11-21"
DEFINED: Final[Mapping[str, Sequence[str]]] = {
    "parquet": [one for one in LEAVES if not one.startswith(("time[", "timestamp[ns]"))],
    "avro": [one for one in LEAVES if not one.startswith(("time[", "timestamp[us]", "timestamp[ns]"))],
    "orc": [one for one in LEAVES if not one.startswith(("time[", "timestamp[ns]"))],
    "jsonl": [one for one in LEAVES if one != "json"],
}
"""By format: the types that a table can have."""
_GREGORIAN: Final = np.datetime64("1582-10-25")
"""Ten days that no calendar had may be read as the ten behind them."""
_DIGITS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
Leaf = Callable[[str, Any], Any]


def ancient(leaf: str, value: Any) -> Any:
    """Leave out what Hive's classes of dates count by the Julian calendar."""
    if leaf == "date":
        return None if np.datetime64(value, "D") < _GREGORIAN else value
    return None if leaf.startswith("timestamp") and np.datetime64(value // 10**9, "s") < _GREGORIAN else value


def as_text(leaf: str, value: Any) -> Any:
    """Return what lines of JSON have, where a table has a text."""
    kind, unit = leaf.partition("[")[0], leaf.partition("[")[2].rstrip("]")
    if kind == "binary":
        return b64encode(value).decode()
    if kind not in ("time", "timestamp"):
        return ancient(leaf, value)
    text = str(np.datetime64(value * _DIGITS[unit] // 10**9, cast("Any", unit)))
    return text.partition("T")[2] if kind == "time" else f"{text}Z"


def whole_seconds(leaf: str, value: Any) -> Any:
    """Return what files of ORC have of instants before 1970; `ancient`: what Spark counts by the Julian calendar."""
    return ancient(leaf, value // 10**9 * 10**9 if leaf.startswith("timestamp") and value < 0 else value)


OTHERWISE: Final[Mapping[str, tuple[Leaf, Leaf]]] = {
    "parquet": (lambda _, value: value, lambda _, value: value),
    "avro": (ancient, ancient),
    "orc": (ancient, whole_seconds),
    "jsonl": (lambda leaf, value: value if isinstance(value, str) else ancient(leaf, value), as_text),
}
"""By format: what of a value that was read is compared, and with what."""


class World:
    """A topic in a bucket, with its table."""

    def __init__(self, s3: "S3Client", bucket: str, metastore: HiveMetastore, topic: str) -> None:
        self._s3, self._bucket, self._metastore, self.topic = s3, bucket, metastore, topic

    def resource(self, fields: Sequence[Mapping[str, Any]] = (), **output: Any) -> LogPersister:
        catalog = {"type": "hive", "uri": self._metastore.uri}
        rows = {"spec.value": {"json": {"fields": list(fields)}}} if fields else {}
        return accepted(
            {
                "spec.kafka.topics": [self.topic],
                "spec.storage": {"bucket": self._bucket, "prefix": "raw"},
                "spec.output": {"partitionBy": [DAY], **output},
                "spec.table": {"format": "hive", "catalog": catalog, "name": "lake.{topic}"},
                **rows,
            }
        )

    def of(self, resource: LogPersister) -> RegisteredTopic:
        spec: TableSpec | None = resource.spec.table
        assert spec is not None
        return topic_opener(resource, spec, Secrets({}))(self.topic)

    def keys(self) -> list[str]:
        listed = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=f"raw/{self.topic}/").get("Contents", [])
        return [one["Key"] for one in listed if not one["Key"].endswith("/")]

    def put(self, path: str, content: bytes, name: str = "1_0_00000000000000000000") -> None:
        self._s3.put_object(
            Bucket=self._bucket, Key="/".join(filter(None, ["raw", self.topic, path, name])), Body=content
        )

    def register(self, resource: LogPersister, *paths: str) -> str:
        """Make the table with the partitions; return its name."""
        of = self.of(resource)
        of.table.ensure(columns_of(resource))
        found = [one for one in (partition_of(path, of.prefixes) for path in paths) if one is not None]
        assert len(found) == len(paths)
        for _ in range(2):  # again: nothing changes
            assert of.table.add(of.table.load(None), found) == {}
        return of.table.name


@pytest.fixture
def world(s3: "S3Client", bucket: str, metastore: HiveMetastore, unique: str) -> World:
    return World(s3, bucket, metastore, unique)


def file_of(output: Mapping[str, Any], chosen: Sequence[Column]) -> tuple[bytes, str]:
    """Return typed rows as a member writes them, and what names of such files end in."""
    fields = [{"name": one.name, "type": one.type} for one in chosen]
    spec = {"spec.value": {"json": {"fields": fields}}, "spec.output": dict(output)}
    resource = accepted(spec)
    records = batch([Record(number, 5, None, value) for number, value in enumerate(documents(chosen))])
    (content,) = files(resource.spec.output, [records], resource.spec.row_schema).values()
    return content, make_format(resource.spec.output).extension


@pytest.mark.parametrize("file_format", DEFINED)
def test_rows_of_every_type(world: World, spark: SparkSql, file_format: str) -> None:
    chosen = columns(DEFINED[file_format])
    content, extension = file_of({file_format: {}}, chosen)
    fields = [{"name": one.name, "type": one.type} for one in chosen]
    world.put(FOLDER, content, f"1_0_00000000000000000000{extension}")
    table = world.register(world.resource(fields, **{file_format: {}}), FOLDER)
    found = spark.rows(f"select * from {table} where dt = '2026-11-21'")
    assert len(found) == ROWS
    read, wanted = OTHERWISE[file_format]
    wrong: dict[str, Any] = {}
    for row, expected in zip(found, plain_rows(chosen, wanted), strict=True):
        for one in chosen:
            got = mapped(row[one.name.lower()], one, read)
            if got != expected[one.name]:
                wrong.setdefault(one.name, (got, expected[one.name]))
    assert wrong == {}


def lines_of(resource: LogPersister, *values: bytes) -> bytes:
    records = batch([Record(number, 5, b"k", value) for number, value in enumerate(values)])
    return encode(make_format(resource.spec.output), [records])


@pytest.mark.parametrize("file_format", ["text", "sequencefile"])
def test_values_as_they_are(world: World, spark: SparkSql, file_format: str) -> None:
    resource = world.resource((), **{file_format: {}})
    values = ["{}", "", "a\x01b", "\\N", "\u00e4\u20ac", " a\t,b "]
    world.put(FOLDER, lines_of(resource, *map(str.encode, values)), f"1{make_format(resource.spec.output).extension}")
    found = spark.rows(f"select value from {world.register(resource, FOLDER)}")
    assert [row["value"] for row in found] == [None if one == "\\N" else one for one in values]


def test_folders_of_every_value(world: World, spark: SparkSql) -> None:
    """Percent-encoded names, null, and the text that Hive has for null; quarantine and finished folders are no data."""
    values = [
        "de",
        "a/b",
        "100%",
        "%2F",
        "\u00fc x",
        "\u6771\u4eac",
        "%C3%B6",
        "a=b",
        "a+b",
        "x:y",
        "UPPER",
        "~x",
        "'q'",
        None,
        NULL,
    ]
    fields = [{"name": "id", "type": "int32"}, {"name": "geo", "type": "struct<country: string>"}]
    resource = world.resource(fields, parquet={}, partitionBy=[DAY, {"field": "geo.country"}])
    paths = {f"{FOLDER}/country={name_of(value)}": value for value in values}
    for number, (path, value) in enumerate(paths.items()):
        row = json.dumps({"id": number, "geo": {"country": value}}).encode()
        (content,) = files(resource.spec.output, [batch([Record(0, 5, None, row)])], resource.spec.row_schema).values()
        world.put(path, content)
        world.put(path, b"", "_SUCCESS")
        world.put(path, b"{}", "_manifest.json")
    world.put("_quarantine", b"no parquet")
    table = world.register(resource, *paths)
    found = spark.rows(f"select id, country, geo.country as own from {table} order by id")
    assert [row["own"] for row in found] == values
    read = ["%5F" + NULL[1:] if value == NULL else value for value in values]
    assert [row["country"] for row in found] == read
    for number, value in enumerate(read):
        literal = "is null" if value is None else f'= "{value}"'
        assert [row["id"] for row in spark.rows(f"select id from {table} where country {literal}")] == [number]


def test_a_table_without_folders_has_all_but_quarantine(world: World, spark: SparkSql) -> None:
    resource = world.resource(text={"compression": "none"}, partitionBy=[])
    world.put("", b"a\nb\n")
    world.put("_quarantine", b"bad\n")
    assert [row["value"] for row in spark.rows(f"select value from {world.register(resource)}")] == ["a", "b"]
