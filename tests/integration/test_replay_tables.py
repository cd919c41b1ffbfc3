"""A table shows one generation at a time: a switch replaces its files in one snapshot, whoever is killed when."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table

from logpersister.cli import switch as cli_switch
from logpersister.cli.exits import Exit
from tests.chaos.table_readers import duckdb_at
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import PREFIX, CreateTopic, Scene
from tests.integration.harness.verification import Verify, said
from tests.integration.test_member_tables import FIELDS, Tables, is_row, manifest_of, write
from tests.stack import MinioServer
from tests.unit.replay.bucket import KilledError

REPLAYED, MORE, LAST = 200, 260, 300
Places = tuple[int, int]


class Story:
    """A topic whose live group fills a table, and which is stored again with one more column."""

    def __init__(self, scene: Scene, name: str, minio: MinioServer, catalog: dict[str, Any]) -> None:
        self.scene, self.name, self._minio = scene, name, minio
        self.tables = Tables(scene, minio, catalog)
        finish = {"policy": ["manifest"], "allowedLateness": "0s"}
        self.live = manifest_of(scene, name, catalog, finish=finish)
        wider = {"json": {"fields": [*FIELDS, {"name": "amount", "type": "string"}]}}
        repaired = {"generation": 2, "value": wider, "finish": finish}
        self.repaired = manifest_of(scene, name, catalog, **repaired)
        self.member = scene.member(self.live, "live")

    @property
    def table(self) -> Table:
        return self.tables.of(self.name)

    def replay(self) -> MemberProcess:
        replay = self.scene.member(self.repaired, None, command="replay")
        assert replay.wait_end() == Exit.OK, replay.tail()
        return replay

    def assert_shows(self, generation: int, end: int) -> None:
        """Check by two readers that each record is a row once, and of which generation it is."""
        rows = self.table.scan(selected_fields=("kafka_partition", "kafka_offset", "amount")).to_arrow().to_pylist()
        by_pyiceberg = [(one["kafka_partition"], one["kafka_offset"], one["amount"]) for one in rows]
        with duckdb_at(self._minio.endpoint, self._minio.access_key, self._minio.secret_key, "us-east-1") as engine:
            told = f"select kafka_partition, kafka_offset, amount from iceberg_scan('{self.table.metadata_location}')"
            by_duckdb = engine.sql(told).fetchall()
        wanted = sorted(
            (partition, n, f"{n}.25" if generation == 2 and n < REPLAYED else None)
            for partition in (0, 1)
            for n in range(end)
            if is_row(n)
        )
        for found in (by_pyiceberg, by_duckdb):
            assert sorted(found, key=lambda one: one[:2]) == wanted

    def assert_each_snapshot_has_each_row_once(self) -> None:
        table, replayed = self.table, {(p, n) for p in (0, 1) for n in range(REPLAYED) if is_row(n)}
        complete = False
        for snapshot in sorted(table.snapshots(), key=lambda one: one.sequence_number or 0):
            scan = table.scan(selected_fields=("kafka_partition", "kafka_offset"), snapshot_id=snapshot.snapshot_id)
            found: Counter[Places] = Counter(
                (one["kafka_partition"], one["kafka_offset"]) for one in scan.to_arrow().to_pylist()
            )
            assert set(found.values()) <= {1}
            complete |= found.keys() >= replayed
            assert found.keys() >= replayed or not complete

    def replacements(self) -> int:
        """Return in how many snapshots files were taken out; each says what the table holds, as all others do."""
        summaries = [one.summary for one in self.table.snapshots() if one.summary is not None]
        assert all(json.loads(one["logpersister.offsets"] or "") for one in summaries)
        return sum(one["deleted-data-files"] is not None for one in summaries)

    def document(self) -> Any:
        return self._json(f"_logpersister/{self.scene.group.name}/current/{self.name}.json")

    def wait_for_manifest(self, generation: int) -> None:
        """Wait until a member has made known that the objects of a finished day are those of a generation."""

        def is_known() -> bool:
            try:
                found = self._json(f"{self.name}/dt=2026-11-21/_manifest.json")
            except self.scene.bucket.client.exceptions.NoSuchKey:
                return False
            assert found["lateRecords"] == 0
            return {one["generation"] for one in found["objects"]} == {generation}

        self.member.wait(f"the manifest of a day has the objects of generation {generation}", is_known)

    def _json(self, key: str) -> Any:
        return json.loads(self.scene.bucket.content(f"{PREFIX}/{key}"))


def dies(*_: Any) -> None:
    raise KilledError


def test_a_table_is_switched_in_one_snapshot_and_back_beside_the_live_group(
    scene: Scene,
    topic: CreateTopic,
    minio: MinioServer,
    tmp_path: Path,
    verify: Verify,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    catalog = {"type": "sql", "name": "prod", "uri": uri, "warehouse": f"s3://{scene.bucket.name}/warehouse"}
    name = topic(2)
    write(scene, name, 0, REPLAYED)
    story = Story(scene, name, minio, catalog)
    tables, live, repaired = story.tables, str(story.live), str(story.repaired)
    tables.wait_for(name, REPLAYED, story.member)
    story.wait_for_manifest(1)
    story.replay()
    assert tables.rows(name).total() == sum(2 for n in range(REPLAYED) if is_row(n)), "nothing of it is in the table"
    story.assert_shows(1, REPLAYED)
    assert "would have" in said("switch", "-f", repaired, "--to-generation", "2", "--dry-run")
    assert story.replacements() == 0

    write(scene, name, REPLAYED, MORE)  # the live group goes on
    with monkeypatch.context() as patched:
        patched.setattr(cli_switch, "change_current", dies)  # behind the snapshot
        with pytest.raises(KilledError):
            said("switch", "-f", repaired, "--to-generation", "2")
    tables.wait_for(name, MORE, story.member)
    story.assert_shows(2, MORE)
    assert (story.document().get("partitions", {}), story.replacements()) == ({}, 1)
    said("switch", "-f", repaired, "--to-generation", "2")
    assert (story.document()["partitions"].keys(), story.replacements()) == ({"0", "1"}, 1)
    story.wait_for_manifest(2)

    said("switch", "-f", live, "--to-generation", "1")
    story.assert_shows(1, MORE)
    assert verify(story.live, "--deep")["ok"]
    said("switch", "-f", repaired, "--to-generation", "2")
    write(scene, name, MORE, LAST)
    tables.wait_for(name, LAST, story.member)
    story.assert_each_snapshot_has_each_row_once()
    assert story.replacements() == 3

    said("switch", "-f", repaired, "--to-generation", "2", "--delete-old")
    story.assert_shows(2, LAST)
    assert verify(story.live, "--deep")["ok"]
    without = scene.manifest(kafka={"topics": [name]}, generation=2, output={"parquet": {}})
    said("switch", "-f", str(without), "--to-generation", "2", code=Exit.INVALID)
