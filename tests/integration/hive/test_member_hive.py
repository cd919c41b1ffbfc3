"""Folders of members as partitions of Hive tables, in a real metastore: none is missing, whoever is killed when."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from logpersister.cli.exits import Exit
from logpersister.manifest import parse
from logpersister.manifest.secrets import Secrets
from logpersister.member.hive_tables import topic_opener
from logpersister.tables.errors import TableError
from logpersister.tables.hive.metastore import StoredTable
from logpersister.tables.hive.table import HiveTable
from tests.integration.harness.examples import example
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, said
from tests.integration.harness.waiting import eventually
from tests.readers.spark_sql import SparkSql
from tests.stack import HiveMetastore
from tests.stack.topics import Record, produce

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
DAY_MS = 86_400_000
FIELDS = [{"name": "id", "type": "int32"}, {"name": "at", "type": "timestamp[ms]", "format": "epoch[ms]"}]
OUTPUT = {"parquet": {}, "partitionBy": [{"date": {"granularity": "day"}}]}


class Tables:
    """A topic of one group, and its table as the metastore has it."""

    def __init__(self, scene: Scene, s3: "S3Client", bucket: str, topic: str, uri: str) -> None:
        self.scene, self.topic, self.uri = scene, topic, uri
        self._s3, self._bucket = s3, bucket

    def manifest(self, uri: str | None = None, **spec: Any) -> Path:
        table = {"format": "hive", "catalog": {"type": "hive", "uri": uri or self.uri}, "name": "lake.{topic}"}
        table |= {"commitInterval": "5s"} | spec.pop("table", {})
        rows: dict[str, Any] = {"output": OUTPUT, "value": {"json": {"fields": FIELDS}}}
        return self.scene.manifest(kafka={"topics": [self.topic]}, **(rows | {"table": table} | spec))

    def write(self, begin: int, end: int, *, days: int = 1, bad: bool = False) -> None:
        """Write records of days, from one each day."""
        records = []
        for number in range(begin, end):
            at = int(NOON.timestamp() * 1000) + number % days * DAY_MS
            value = b"no row" if bad else json.dumps({"id": number, "at": at, "new": "n"}).encode()
            records.append(Record(value, timestamp=at))
        produce(self.scene.kafka.bootstrap, self.topic, records)

    def partitions(self) -> set[str]:
        """Return the days that are partitions."""
        return {values[0] for values in self._table().partitions()}

    def load(self) -> StoredTable:
        return self._table().load(None)

    def folders(self) -> set[str]:
        """Return the days that have objects."""
        names = [one.split("/") for one in self.scene.bucket.names(self.topic)]  # raw, topic, folder, object
        return {of[2].removeprefix("dt=") for of in names if len(of) == 4 and of[2].startswith("dt=")}

    def notes(self) -> list[str]:
        prefix = f"raw/_logpersister/{self.scene.group.name}/untold/table/"
        listed = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=prefix).get("Contents", [])
        return [one["Key"] for one in listed]

    def wait(self, count: int, *members: MemberProcess) -> None:
        """Wait until so many folders are partitions, all that have objects, and nothing is noted."""
        eventually(
            f"{count} folders are partitions",
            lambda: self._is_there() and len(self.partitions()) == count and not self.notes(),
            explain=lambda: "; ".join(member.tail() for member in members),
        )
        assert self.partitions() == self.folders()

    def _is_there(self) -> bool:
        try:
            return bool(self.load())
        except TableError:
            return False

    def _table(self) -> HiveTable:
        resource = parse(yaml.safe_load(self.manifest().read_text()))
        assert resource.spec.table is not None
        return topic_opener(resource, resource.spec.table, Secrets({}))(self.topic).table


def found(answer: Any) -> set[str]:
    return {one["kind"] for one in answer["findings"]}


@pytest.fixture
def tables(scene: Scene, s3: "S3Client", bucket: str, topic: CreateTopic, metastore: HiveMetastore) -> Tables:
    return Tables(scene, s3, bucket, topic(1), metastore.uri)


def test_folders_and_columns_are_there_before_rows_are_asked_for(
    tables: Tables, verify: Verify, spark: SparkSql
) -> None:
    """A run until current registers all; Spark reads the rows, of both schemas, and what is in quarantine is no row."""
    tables.write(0, 30, days=3)
    tables.write(0, 2, bad=True)
    tables.scene.run_until_current(tables.manifest())
    tables.wait(3)
    assert tables.load().columns == {"id": "int", "at": "timestamp"}

    tables.write(30, 40, days=5)
    wider = [*FIELDS, {"name": "new", "type": "string"}]
    manifest = tables.manifest(value={"json": {"fields": wider}})
    tables.scene.run_until_current(manifest)
    tables.wait(5)

    name = ".".join(("lake", tables.topic.replace("-", "_").replace(".", "_")))
    rows = spark.rows(f"select id, dt, new, count(*) over () as all from {name} order by id")
    assert [(row["id"], row["dt"], row["new"]) for row in rows] == [
        (n, f"2026-11-{1 + n % (3 if n < 30 else 5):02d}", None if n < 30 else "n") for n in range(40)
    ]
    spark.rows(f"alter table {name} drop partition (dt = '2026-11-01')")
    spark.rows(f"alter table {name} add partition (dt = '2020-01-01') location '/nowhere'")
    answer = verify(manifest)
    assert found(answer) >= {"not-registered", "without-objects"}
    assert answer["ok"], "files are whole; what the table says is a note"


def test_a_view_has_what_was_stored_again_instead_of_what_was_stored(tables: Tables, spark: SparkSql) -> None:
    """The live group goes on, also in days that are stored again."""
    scene, name = tables.scene, tables.topic.replace("-", "_").replace(".", "_")
    output = {"parquet": {"kafkaColumns": ["partition", "offset"]}, "partitionBy": OUTPUT["partitionBy"]}
    wider = {"json": {"fields": [*FIELDS, {"name": "new", "type": "string"}]}}
    repaired: dict[str, Any] = {
        "generation": 2,
        "output": output,
        "value": wider,
        "table": {"name": "lake.{topic}_{generation}"},
    }
    live = tables.manifest(output=output)
    tables.write(0, 30, days=2)
    tables.write(30, 40, days=4)
    scene.run_until_current(live)
    said("replay", "-f", str(tables.manifest(**repaired)), code=Exit.HELD)  # into the folders of the group
    beside = str(tables.manifest(**repaired, storage={"prefix": "again"}))
    options = ["--to", "2026-11-03T00:00:00Z"]
    replay = scene.member(Path(beside), None, *options, command="replay")
    assert replay.wait_end() == Exit.OK, replay.tail()
    tables.write(40, 50, days=4)
    scene.run_until_current(live)
    where = replay.log.read_text().partition("and the other table where ")[2].partition("\n")[0]
    before, after = f"select id, dt, null as new from lake.{name}", f"select id, dt, new from lake.{name}_2"

    def shown(view: str) -> list[tuple[int, str, str | None]]:
        spark.rows(f"create or replace view lake.{name}_shown as {view}")
        rows = spark.rows(f"select id, dt, new from lake.{name}_shown order by id")
        return [(row["id"], row["dt"], row["new"]) for row in rows]

    assert {row["dt"] for row in spark.rows(after)} == {"2026-11-01", "2026-11-02"}
    old = shown(before)
    assert [one[0] for one in old] == list(range(50))
    assert shown(f"{before} where {where} union all {after}") == [(n, dt, "n" if n < 30 else None) for n, dt, _ in old]
    assert shown(before) == old
    said("replay", "-f", beside, *options)  # it is done


def test_finished_folders_become_partitions(tables: Tables, verify: Verify) -> None:
    """With the manifest of the example."""
    shape = example(
        "hive-table",
        finish={"allowedLateness": "0s", "idleAfter": "1s"},
        table={"catalog": {"uri": tables.uri}, "commitInterval": "5s"},
    )
    manifest = tables.scene.manifest(kafka={"topics": [tables.topic]}, **shape)
    rows = ({"id": n, "at": f"2026-11-{n:02d}T05:00:00Z", "amount": n + 0.5, "country": "de"} for n in (1, 2, 3))
    produce(tables.scene.kafka.bootstrap, tables.topic, [Record(json.dumps(row).encode()) for row in rows])
    member = tables.scene.member(manifest)
    eventually(
        "all folders are partitions, the last one when its partition is idle",
        lambda: tables.folders() >= {"2026-11-03"} and tables.partitions() >= tables.folders(),
        explain=member.tail,
    )
    answer = verify(manifest)
    assert (answer["ok"], found(answer) & {"not-registered", "without-objects"}) == (True, set())
