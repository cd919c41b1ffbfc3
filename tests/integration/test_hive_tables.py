"""Hive tables in a real metastore, read by Spark from S3: every type and format, every folder."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from logpersister.formats.registry import make_format
from logpersister.manifest import LogPersister, parse
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.table import TableSpec
from logpersister.member.hive_tables import topic_opener
from logpersister.records.field_paths import NULL, name_of
from logpersister.tables.errors import TableError
from logpersister.tables.hive.columns import columns_of
from logpersister.tables.hive.duty import RegisteredTopic
from logpersister.tables.hive.folders import partition_of
from tests.readers.spark_sql import SparkSql
from tests.readers.typed_rows import LEAVES, ROWS, Column, columns, documents, plain_rows
from tests.stack import HiveMetastore, MinioServer
from tests.unit.formats.events import files
from tests.unit.formats.samples import Record, batch, encode

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.timeout(600)

DAY: Final = {"date": {"granularity": "day"}}
BY_COUNTRY: Final = [DAY, {"field": "country"}]
FOLDER: Final = "dt=2026-11-21"
DEFINED: Final[Mapping[str, Sequence[str]]] = {
    "parquet": [one for one in LEAVES if not one.startswith(("time[", "timestamp[ns]"))],
    "avro": [one for one in LEAVES if not one.startswith(("time[", "timestamp[us]", "timestamp[ns]"))],
    "jsonl": [one for one in LEAVES if one != "json"],
}
"""By format: the types that a table can have."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, metastore: HiveMetastore, minio: MinioServer) -> Iterator[SparkSql]:
    with SparkSql(tmp_path_factory.mktemp("spark"), metastore, minio) as found:
        yield found


class World:
    """A topic in a bucket, with its table."""

    def __init__(self, s3: "S3Client", bucket: str, metastore: HiveMetastore, topic: str) -> None:
        self._s3, self._bucket, self._metastore, self.topic = s3, bucket, metastore, topic

    def resource(self, fields: Sequence[Mapping[str, Any]] = (), **output: Any) -> LogPersister:
        catalog = {"type": "hive", "uri": self._metastore.uri}
        rows = {"parser": {"type": "json"}, "schema": {"fields": list(fields)}} if fields else {}
        return parse(
            {
                "apiVersion": "logpersister.dev/v1alpha1",
                "kind": "LogPersister",
                "metadata": {"name": "tables"},
                "spec": {
                    "kafka": {"bootstrapServers": "none:9092", "topics": [self.topic]},
                    "storage": {"bucket": self._bucket, "prefix": "raw"},
                    "output": {"partitionBy": [DAY], **output},
                    "table": {"format": "hive", "catalog": catalog, "name": "lake.{topic}"},
                    **rows,
                },
            }
        )

    def of(self, resource: LogPersister) -> RegisteredTopic:
        spec: TableSpec | None = resource.spec.table
        assert spec is not None
        return topic_opener(resource, spec, Secrets({}))(self.topic)

    def put(self, path: str, content: bytes, name: str = "1_0_00000000000000000000") -> None:
        self._s3.put_object(Bucket=self._bucket, Key=f"raw/{self.topic}/{path}/{name}", Body=content)

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
    resource = parse(
        {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "LogPersister",
            "metadata": {"name": "a"},
            "spec": {
                "kafka": {"bootstrapServers": "a:9092", "topics": ["a"]},
                "storage": {"bucket": "a"},
                "parser": {"type": "json"},
                "schema": {"fields": [{"name": one.name, "type": one.type} for one in chosen]},
                "output": dict(output),
            },
        }
    )
    records = batch([Record(number, 5, None, value) for number, value in enumerate(documents(chosen))])
    (content,) = files(resource.spec.output, [records], resource.spec.row_schema).values()
    return content, make_format(resource.spec.output).extension


@pytest.mark.parametrize("file_format", DEFINED)
def test_rows_of_every_type(world: World, spark: SparkSql, file_format: str) -> None:
    chosen = columns(DEFINED[file_format])
    content, extension = file_of({"format": file_format}, chosen)
    fields = [{"name": one.name, "type": one.type} for one in chosen]
    world.put(FOLDER, content, f"1_0_00000000000000000000{extension}")
    table = world.register(world.resource(fields, format=file_format), FOLDER)
    found = spark.rows(f"select * from {table} where dt = '2026-11-21'")
    expected = plain_rows(chosen)
    bad = {}
    assert len(found) == ROWS
    for got, wanted in zip(found, expected, strict=True):
        for one in chosen:
            if got[one.name.lower()] != wanted[one.name]:
                bad.setdefault(one.name, (got[one.name.lower()], wanted[one.name]))
    for name, pair in bad.items():
        print(name, pair)
    assert not bad
