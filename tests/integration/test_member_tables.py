"""Rows of members in Iceberg tables, by real catalogs: each exactly once, whoever is killed when."""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from logpersister.cli.exits import Exit
from tests.chaos.check import Progress
from tests.chaos.table_readers import duckdb_at, snapshots_of
from tests.chaos.tables import examine_offsets
from tests.integration.harness.examples import example
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify
from tests.integration.harness.waiting import eventually
from tests.stack import IcebergCatalog, MinioServer, artifacts
from tests.stack.fault_proxy import FaultProxy, LoseResponse, Stall
from tests.stack.postgres import Postgres
from tests.stack.topics import Record, create_topic, produce

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
FIELDS = [
    {"name": "id", "type": "int32", "required": True},
    {"name": "at", "type": "timestamp[ms]"},
    {"name": "tags", "type": "list<string>"},
    {"name": "geo", "type": "struct<country: string, lat: float32>"},
]
OUTPUT = {
    "parquet": {
        "kafkaColumns": ["partition", "offset", "timestamp"],
        "sortBy": [{"field": "kafka_timestamp", "order": "descending"}],
    },
    "partitionBy": [{"date": {"granularity": "day"}}, {"field": "geo.country"}],
}


def record(number: int, partition: int) -> Record:
    at, country = NOON + timedelta(milliseconds=number), ["de", "fr", None][number % 3]
    value: dict[str, Any] = {"id": number, "at": at.isoformat(), "tags": ["a"] * (number % 3)}
    value |= {"geo": {"country": country, "lat": number / 2}, "country": country, "amount": f"{number}.25"}
    text = b"no row" if number % 50 == 7 else json.dumps(value).encode()
    return Record(text, b"k", partition=partition, timestamp=int(NOON.timestamp() * 1000) + number * 1000_000)


def is_row(number: int) -> bool:
    return number % 50 != 7


def write(scene: Scene, topic: str, begin: int, end: int, partitions: int = 2) -> None:
    records = (record(number, partition) for number in range(begin, end) for partition in range(partitions))
    produce(scene.kafka.bootstrap, topic, records)


def manifest_of(scene: Scene, topic: str, catalog: dict[str, Any], **spec: Any) -> Path:
    table = {"format": "iceberg", "catalog": catalog, "name": "lake.{topic}", "commitInterval": "5s"}
    rows = {"output": OUTPUT, "value": {"json": {"fields": FIELDS}}}
    table |= spec.pop("table", {})
    return scene.manifest(kafka=spec.pop("kafka", {"topics": [topic]}), **(rows | {"table": table} | spec))


Settings = dict[str, Any]


@pytest.fixture
def rest(iceberg: IcebergCatalog) -> Settings:
    return {"type": "rest", "uri": iceberg.url}


@pytest.fixture
def sqlite(tmp_path: Path, bucket: str) -> Settings:
    """A catalog that other engines know as ``prod``."""
    uri = f"sqlite:///{tmp_path}/catalog.db"
    return {"type": "sql", "name": "prod", "uri": uri, "warehouse": f"s3://{bucket}/warehouse"}


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Postgres]:
    try:
        artifacts.postgres()
    except artifacts.MissingArtifactError as error:
        pytest.skip(str(error))  # `make soak` says so in its summary
    with Postgres(tmp_path / "postgres") as server:
        yield server


@pytest.fixture
def catalog_proxy(iceberg: IcebergCatalog) -> Iterator[FaultProxy]:
    with FaultProxy(iceberg.port, http=True) as proxy:
        yield proxy


@pytest.fixture
def catalog_login(secrets_dir: Path) -> str:
    """The Secret with the token of the examples; the catalog of tests lets everybody in."""
    secret = secrets_dir / "catalog-login"
    secret.mkdir(parents=True, exist_ok=True)
    (secret / "token").write_text("t0ken")
    return secret.name


class Tables:
    """Tables as other clients see them."""

    def __init__(self, scene: Scene, minio: MinioServer, catalog: Settings) -> None:
        self._scene = scene
        files = {
            "s3.endpoint": minio.endpoint,
            "s3.access-key-id": minio.access_key,
            "s3.secret-access-key": minio.secret_key,
            "s3.region": "us-east-1",
        }
        self.catalog: Catalog = load_catalog(**{"name": "other"} | catalog | files)

    def of(self, topic: str, type_: str = "") -> Table:
        name = f"{topic}_{type_}" if type_ else topic
        return self.catalog.load_table(("lake", name.replace("-", "_").replace(".", "_")))

    def rows(self, topic: str, type_: str = "") -> Counter[tuple[int, int]]:
        """Return how often each record is a row, by partition and offset."""
        found = self.of(topic, type_).scan(selected_fields=("kafka_partition", "kafka_offset")).to_arrow()
        return Counter((row["kafka_partition"], row["kafka_offset"]) for row in found.to_pylist())

    def receipts(self) -> list[str]:
        return [key for key in self._scene.bucket.names("_logpersister") if "/receipts/" in key]

    def wait_for(self, topic: str, end: int, *members: MemberProcess, partitions: int = 2) -> None:
        """Wait until the table has all rows and no receipt is left; check that each is there once."""
        wanted = {(p, n): 1 for p in range(partitions) for n in range(end) if is_row(n)}
        eventually(
            f"the table has {len(wanted)} rows, and no receipt is left",
            lambda: self.exists(topic) and len(self.rows(topic)) >= len(wanted) and not self.receipts(),
            explain=lambda: "; ".join(member.tail() for member in members),
        )
        assert self.rows(topic) == wanted

    def wait_for_types(self, topic: str, end: int, *members: MemberProcess) -> None:
        """Wait until the table of each type has all rows; check that each is there once."""
        wanted = {type_: {(p, n): 1 for p in range(2) for n in range(end) if type_of(n) == type_} for type_ in OF_TYPES}
        eventually(
            f"tables of types have all rows before offset {end}",
            lambda: all(
                self.exists(topic, type_) and len(self.rows(topic, type_)) >= len(rows)
                for type_, rows in wanted.items()
            ),
            explain=lambda: "; ".join(member.tail() for member in members),
        )
        assert {type_: self.rows(topic, type_) for type_ in OF_TYPES} == wanted

    def exists(self, topic: str, type_: str = "") -> bool:
        try:
            return bool(self.of(topic, type_))
        except NoSuchTableError:
            return False


def test_a_run_until_current_fills_a_table(
    scene: Scene, topic: CreateTopic, sqlite: Settings, minio: MinioServer, verify: Verify
) -> None:
    name, tables = topic(2), Tables(scene, minio, sqlite)
    write(scene, name, 0, 300)
    manifest = manifest_of(scene, name, sqlite)
    scene.run_until_current(manifest)
    tables.wait_for(name, 300)
    found = tables.of(name)
    assert [str(field) for field in found.spec().fields] == ["1000: dt: identity(8)", "1001: country: identity(9)"]
    rows = found.scan(row_filter="dt = '2026-11-21' and country is null and id < 9").to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == [2, 2, 5, 5, 8, 8]
    assert {(str(row["at"]), *row["tags"], row["geo"]["lat"]) for row in rows if row["id"] == 2} == {
        ("2026-11-21 12:00:00.002000+00:00", "a", "a", 1.0)
    }
    assert (verify(manifest, "--deep")["ok"], scene.group.is_current(name)) == (True, True)

    write(scene, name, 300, 310)
    wider = [{"name": "id", "type": "int64"}, *FIELDS[1:], {"name": "new", "type": "string"}]
    member = scene.member(manifest_of(scene, name, sqlite, value={"json": {"fields": wider}}))
    tables.wait_for(name, 310, member)
    assert {str(tables.of(name).schema().find_type(column)) for column in ("id", "new")} == {"long", "string"}
    assert tables.of(name).scan(row_filter="id = 305").to_arrow().num_rows == 2, "files of both schemas are read"

    found = tables.of(name)
    *_, older, _ = (one.snapshot_id for one in found.snapshots())
    found.manage_snapshots().rollback_to_snapshot(older).commit()
    before = tables.rows(name)
    write(scene, name, 310, 320)
    member.wait("somebody is asked", lambda: f"accepted to {older}" in json.dumps(member.status().get("duties", [])))
    scene.group.wait_current(name, explain=member.tail)
    assert tables.rows(name) == before
    with tables.of(name).transaction() as change:
        change.set_properties({"logpersister.accepted": str(older)})
    wanted = before + Counter((partition, number) for partition in range(2) for number in range(310, 320))
    member.wait("appending goes on behind the rows that stay away", lambda: tables.rows(name) == wanted)


def test_two_topics_of_a_pattern_whose_tables_had_one_name_have_two(
    scene: Scene, topic: CreateTopic, sqlite: Settings, minio: MinioServer
) -> None:
    dotted = topic(2)
    begin, _, number = dotted.rpartition(".")
    dashed, tables = f"{begin}-{number}", Tables(scene, minio, sqlite)
    create_topic(scene.kafka.bootstrap, dashed, partitions=2)
    write(scene, dotted, 0, 30)
    write(scene, dashed, 0, 60)
    other = {"overrides": [{"topics": [dashed], "table": {"name": "lake.other"}}]}
    pattern = {"topics": None, "topicPattern": f"^{re.escape(begin)}[.-]{number}$"}
    scene.run_until_current(manifest_of(scene, dotted, sqlite, kafka=pattern, **other))
    with duckdb_at(minio.endpoint, minio.access_key, minio.secret_key, "us-east-1") as engine:
        for table, end in ((tables.of(dotted), 30), (tables.of("other"), 60)):
            found = engine.sql(f"select kafka_partition, id from iceberg_scan('{table.metadata_location}')").fetchall()
            assert sorted(found) == [(p, n) for p in (0, 1) for n in range(end) if is_row(n)]


def test_members_are_frozen_and_killed_around_an_append(
    scene: Scene,
    topic: CreateTopic,
    rest: Settings,
    minio: MinioServer,
    s3_proxy: FaultProxy,
    catalog_proxy: FaultProxy,
) -> None:
    """Frozen before its commit, which arrives when another member has committed; killed after one."""
    name, tables = topic(2), Tables(scene, minio, rest)
    proxied = {**rest, "uri": catalog_proxy.endpoint, "properties": {"s3.endpoint": minio.endpoint}}
    manifest = manifest_of(scene, name, proxied, storage={"endpoint": s3_proxy.endpoint})
    write(scene, name, 0, 130)
    fault = Stall(matches=lambda line: line.startswith("POST ") and "/tables/" in line, times=1, after=100)
    catalog_proxy.inject(fault)
    zombie = scene.member(manifest, "zombie")
    zombie.wait("its snapshot is about to be committed", lambda: fault.met)
    zombie.freeze()
    after = Stall(matches=lambda line: line.startswith("POST ") and "delete" in line.lower(), times=None, after=100)
    second = scene.member(manifest, "second")
    second.wait_event("member.starts")  # behind the probe of its bucket, which deletes, too
    s3_proxy.inject(after)
    second.wait("receipts are about to be deleted", lambda: after.met)
    assert tables.receipts()
    assert tables.rows(name).total() > 0
    catalog_proxy.clear()  # the stale commit arrives
    zombie.thaw()

    def is_refused() -> bool:
        """It hears the answer, or, frozen for longer than the deadline of its request, gives up."""
        return bool(zombie.events("table.conflict") or zombie.events("duty.failed", duty="table"))

    zombie.wait("its stale commit is refused", is_refused)
    assert not zombie.events("table.appended")
    for member in (zombie, second):
        member.kill()
        member.wait_gone()
    s3_proxy.clear()
    write(scene, name, 130, 200)
    third = scene.member(manifest, "third")
    tables.wait_for(name, 200, third)


def test_lost_answers_and_an_absent_catalog_repeat_nothing(
    scene: Scene,
    topic: CreateTopic,
    rest: Settings,
    minio: MinioServer,
    catalog_proxy: FaultProxy,
    catalog_login: str,
) -> None:
    """With the manifest of the example."""
    name, tables = topic(2), Tables(scene, minio, rest)
    commit = LoseResponse(matches=lambda line: line.startswith("POST ") and "/tables/" in line)
    catalog_proxy.inject(commit)
    table = {"catalog": {"uri": catalog_proxy.endpoint}, "commitInterval": "5s"}
    member = scene.member(scene.manifest(kafka={"topics": [name]}, **example("table", table=table)))
    write(scene, name, 0, 100)
    tables.wait_for(name, 100, member)
    assert commit.met == 1
    catalog_proxy.stop()
    write(scene, name, 100, 200)
    scene.group.wait_current(name, explain=member.tail)
    assert tables.receipts(), "what is stored waits for the catalog"
    member.wait("that is said", lambda: member.status()["tables"]["behind"] == 1)
    [behind] = member.status()["tables"]["mostBehind"]
    assert (behind["topic"], behind["receipts"] > 0, behind["lastSnapshot"] is not None) == (name, True, True)
    catalog_proxy.start()
    tables.wait_for(name, 200, member)
    member.wait("nothing is behind", lambda: member.status()["tables"]["behind"] == 0)


OF_TYPES = ("order", "refund", "chargeback")


def type_of(number: int) -> str:
    """Return the type of a record: chargebacks are sparse, and audits and heartbeats are in no table."""
    return "chargeback" if number % 60 == 11 else ("order", "refund", "audit.login", "heartbeat")[number % 4]


def write_types(scene: Scene, topic: str, begin: int, end: int) -> None:
    def of(number: int, partition: int) -> Record:
        text = json.dumps({"id": number, "amount": "1.50", "order": number - 1}).encode()
        headers = [("event-type", type_of(number).encode())]
        at = int(NOON.timestamp() * 1000) + number * 600_000
        return Record(text, b"k", partition=partition, timestamp=at, headers=headers)

    produce(
        scene.kafka.bootstrap, topic, (of(number, partition) for number in range(begin, end) for partition in (0, 1))
    )


def types_manifest(scene: Scene, topic: str, uri: str, type_of_order: str = "int64") -> Path:
    shape = example(
        "types-tables",
        table={"catalog": {"uri": uri}, "commitInterval": "5s"},
        finish={"idleAfter": "1s", "trigger": "record-time", "late": "folder"},
    )
    shape["types"]["entries"][1]["value"]["json"]["fields"][1]["type"] = type_of_order
    return scene.manifest(kafka={"topics": [topic]}, **shape)


def test_each_type_has_a_table_whoever_is_killed_when(
    scene: Scene,
    topic: CreateTopic,
    rest: Settings,
    minio: MinioServer,
    catalog_proxy: FaultProxy,
    catalog_login: str,
    verify: Verify,
) -> None:
    """Killed before the commit of one of three tables."""
    name, tables = topic(2), Tables(scene, minio, rest)
    manifest = types_manifest(scene, name, catalog_proxy.endpoint)
    write_types(scene, name, 0, 100)
    member = scene.member(manifest)
    eventually("columns are known", lambda: tables.exists(name, "chargeback"), explain=member.tail)
    table = f"{name}_refund".replace("-", "_").replace(".", "_")
    before = Stall(matches=lambda line: line.startswith("POST ") and f"/{table}" in line, times=None, after=100)
    catalog_proxy.inject(before)
    write_types(scene, name, 100, 120)
    member.wait("the snapshot of one table is about to be committed", lambda: before.met >= 1)
    member.kill()
    member.wait_gone()
    catalog_proxy.clear()
    write_types(scene, name, 120, 130)
    second = scene.member(manifest)
    tables.wait_for_types(name, 130, second)
    assert len(tables.of(name, "chargeback").metadata.snapshots) <= 3, "where there are rows of it"
    second.terminate()
    found = tables.of(name, "order")
    found.overwrite(found.scan().to_arrow())  # into one file, as other engines compact
    document = verify(manifest, "--deep")
    assert document["ok"], document["findings"]
    assert document["topics"][0]["tableRows"] == sum(tables.rows(name, type_).total() for type_ in OF_TYPES)
    tables.of(name, "order").delete("kafka_offset = 0")
    findings = [one for one in verify(manifest, "--deep", code=Exit.BROKEN)["findings"] if one["problem"]]
    assert [(one["kind"], one["partition"], one["start"]) for one in findings] == [
        ("not-in-table", 0, 0),
        ("not-in-table", 1, 0),
    ]


@pytest.mark.soak
def test_tables_of_types_lack_what_they_could_not_take_and_folders_of_types_are_finished(
    scene: Scene, topic: CreateTopic, rest: Settings, minio: MinioServer, catalog_login: str, verify: Verify
) -> None:
    """Two tables take their columns no more; a person accepts that; then all is late."""
    name, tables = topic(2), Tables(scene, minio, rest)
    manifest = types_manifest(scene, name, rest["uri"])
    write_types(scene, name, 0, 130)
    first = scene.member(manifest)
    tables.wait_for_types(name, 130, first)
    first.terminate()

    # A number that the tables of one entry cannot take: its records are stored without them, and nothing else waits.
    second = scene.member(types_manifest(scene, name, rest["uri"], "float64"))
    write_types(scene, name, 130, 160)
    orders = {(p, n): 1 for p in (0, 1) for n in range(160) if type_of(n) == "order"}
    eventually("orders go on", lambda: len(tables.rows(name, "order")) >= len(orders), explain=second.tail)
    assert tables.rows(name, "order") == orders
    scene.group.wait_current(name, explain=second.tail)
    second.wait("it is told", lambda: "is stored without its table" in json.dumps(second.status().get("duties", [])))
    assert {one["type"] for one in second.status()["types"]["stalest"]} == {*OF_TYPES, "/^audit[.]/"}
    assert second.metrics()[f'logpersister_type_records_total{{topic="{name}",type="refund"}}'] == 14
    second.terminate()

    # Mended: a person accepts that the tables lack what was stored meanwhile.
    write_types(scene, name, 160, 190)
    third = scene.member(manifest)
    lacking = {type_: [] if type_ == "order" else range(130, 160) for type_ in OF_TYPES}

    def rows(end: int, type_: str) -> dict[tuple[int, int], int]:
        numbers = [n for n in range(end) if type_of(n) == type_ and n not in lacking[type_]]
        return {(p, n): 1 for p in (0, 1) for n in numbers}

    wanted = {type_: rows(190, type_) for type_ in OF_TYPES}

    def wait_for_rows(member: MemberProcess) -> None:
        def accepted() -> bool:
            for found in ASKED.finditer(json.dumps(member.status().get("duties", []))):
                with tables.catalog.load_table(("lake", found[1])).transaction() as change:
                    change.set_properties({"logpersister.accepted-gaps": found[2]})
            return all(len(tables.rows(name, type_)) >= len(rows) for type_, rows in wanted.items())

        eventually("somebody is asked about gaps, and accepts them", accepted, explain=member.tail)
        assert {type_: tables.rows(name, type_) for type_ in OF_TYPES} == wanted

    wait_for_rows(third)
    marks = {"order/dt=2026-11-22/_SUCCESS", "refund/dt=2026-11-22/hr=00/_manifest.json"}
    third.wait(
        "folders of types are finished",
        lambda: marks <= {key.partition("type=")[2] for key in scene.bucket.names(name)},
    )
    write_types(scene, name, 190, 200)  # of a day that is finished by now, with the first chargeback behind the gap
    wanted = {type_: rows(200, type_) for type_ in OF_TYPES}
    wait_for_rows(third)
    assert any("/_late/type=refund/dt=2026-11-22/hr=" in key for key in scene.bucket.names(name))
    document = verify(manifest, "--deep")
    assert document["ok"], document["findings"]
    assert document["topics"][0]["tableRows"] == sum(map(len, wanted.values()))


ASKED = re.compile(r"table lake\.(\w+), partition [^\"]*accepted-gaps to ([0-9:,-]*[0-9])")


@pytest.mark.soak
def test_a_catalog_in_postgresql_is_killed_frozen_and_cut_off(
    scene: Scene, topic: CreateTopic, minio: MinioServer, postgres: Postgres, secrets_dir: Path, bucket: str
) -> None:
    """Members are killed, too; two of them are there all the time."""
    name, chance = topic(2), random.Random(7)
    postgres.write_secret(secrets_dir, "postgres")
    uri = postgres.uri.replace("//", f"//{postgres.user}:{postgres.password}@", 1)
    with FaultProxy(postgres.port) as proxy:
        warehouse = f"s3://{bucket}/warehouse"
        catalog = {"type": "sql", "uri": postgres.uri_at(proxy.port), "secretName": "postgres", "warehouse": warehouse}
        manifest = manifest_of(scene, name, catalog, upload={"maxAge": "1s"})
        members = [scene.member(manifest, f"first-{number}") for number in (1, 2)]

        def is_begun() -> bool:
            now = Tables(scene, minio, catalog | {"uri": uri})  # by new connections: the server was killed
            return now.exists(name) and now.rows(name).total() > 0

        for turn in range(12):
            if turn == 1:
                eventually("the first rows are in the table", is_begun, pause=1.0)
            write(scene, name, turn * 25, turn * 25 + 25)
            if turn % 4 == 0:
                postgres.kill()
                postgres.launch()
                postgres.wait()
            elif turn % 4 == 1:
                postgres.suspend()
                time.sleep(chance.uniform(1, 4))
                postgres.resume()
            elif turn % 4 == 2:
                proxy.stop()
                proxy.start()
            else:
                victim = members.pop(0)
                victim.kill()
                victim.wait_gone()
                members.append(scene.member(manifest, f"turn-{turn}"))
            time.sleep(chance.uniform(1, 5))
        tables = Tables(scene, minio, catalog | {"uri": uri})
        tables.wait_for(name, 300, *members)
        scene.group.wait_current(name, explain=members[0].tail)
    snapshots = snapshots_of(tables.of(name))
    assert len(snapshots.offsets) > 1, "the first rows, and those behind them"
    assert snapshots.others == 0
    ends = {(name, partition): Progress(300, (), 300) for partition in range(2)}
    assert examine_offsets(snapshots, tables.receipts(), name, ends) == []
    added = [one.summary["added-records"] for one in tables.of(name).metadata.snapshots if one.summary is not None]
    assert sum(int(number or 0) for number in added) == tables.rows(name).total(), "no append was repeated"
