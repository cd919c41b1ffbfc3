"""What a replay refuses before it asks any server, and the manifest that it becomes."""

import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from logpersister.cli import bucket as cli_bucket
from logpersister.cli import check, context, main
from logpersister.cli import replay as cli_replay
from logpersister.cli.backed import check_backup, text_of
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.replay import outside, replayed
from logpersister.manifest import LogPersister
from logpersister.member.process import MemberOptions
from logpersister.ranges import TopicPartition
from logpersister.replay.planning import PlannedTopic
from logpersister.report import logs
from logpersister.storage.replayed import ReplayNote, list_replayed
from logpersister.storage.untold import TABLE, Untold, delete_untold, put_untold
from tests.unit.cli.test_run import written
from tests.unit.manifest.documents import REMOVE
from tests.unit.replay.bucket import Bucket

Capture = pytest.CaptureFixture[str]
KAFKA: dict[str, Any] = {"output": {"kafka": {}}}
ICEBERG = {
    "value": {"json": {"fields": [{"name": "id", "type": "int64"}]}},
    "output": {"parquet": {"kafkaColumns": ["partition", "offset"]}},
    "table": {
        "format": "iceberg",
        "catalog": {"type": "rest", "uri": "https://c"},
        "name": "lake.{topic}_{generation}",
    },
}
HIVE: dict[str, Any] = {
    "value": {"json": {"fields": [{"name": "id", "type": "int64"}]}},
    "output": {"parquet": {}, "partitionBy": [{"date": {"granularity": "day"}}]},
    "table": {"format": "hive", "catalog": {"type": "hive", "uri": "thrift://c:9083"}, "name": "lake.{topic}"},
}
FOLDERS = {"text": {}, "partitionBy": [{"date": {"granularity": "hour"}}]}


def replay(tmp_path: Path, *options: str, backup: dict[str, Any] | None = None, **changes: Any) -> int:
    file = written(tmp_path / "repaired.yaml", **changes)
    named = () if backup is None else ("--backup", written(tmp_path / "backup.yaml", **backup))
    return main(["replay", "-f", file, *named, *options])


@pytest.mark.parametrize(
    ("options", "backup", "changes", "told"),
    [
        (["--source", "backup"], None, {}, "--source backup: needs --backup FILE"),
        (["--source", "kafka"], KAFKA, {}, "--backup: is not read with --source kafka"),
        ([], None, ICEBERG, "spec.table.name: has {generation} in it"),
        ([], None, KAFKA, "spec.output.kafka: a backup is copied, not replayed"),
        ([], {"output": {"orc": {}}}, {}, "spec.output is orc; records are read back from kafka, jsonl, sequencefile"),
        ([], {**KAFKA, "kafka__isolationLevel": "read_uncommitted"}, {}, "spec.kafka.isolationLevel is another"),
    ],
)
def test_what_cannot_be_replayed_is_refused_at_once(
    tmp_path: Path,
    capsys: Capture,
    options: list[str],
    backup: dict[str, Any] | None,
    changes: dict[str, Any],
    told: str,
) -> None:
    assert replay(tmp_path, *options, backup=backup, **changes) == Exit.INVALID
    assert told in capsys.readouterr().err


def test_a_topic_of_a_backup_that_lacks_what_its_output_needs_is_refused(tmp_path: Path) -> None:
    overrides = [{"topics": ["b"], "output": {"text": {}}}]
    backup = context.manifest(
        written(tmp_path / "b.yaml", output={"jsonl": {}}, overrides=overrides, kafka__topics=["a", "b"])
    )
    by_time = context.manifest(written(tmp_path / "live.yaml", output=FOLDERS, kafka__topics=["a", "b", "c"]))
    check_backup(backup, by_time, ["a", "c"])
    with pytest.raises(CommandError, match=r"topic b: spec\.output\.partitionBy needs the timestamp of records"):
        check_backup(backup, by_time, ["a", "b"])
    assert [topic for topic, _ in text_of(backup, ["a", "b"])] == ["b"]


def test_a_replay_has_its_topics_by_name_and_finishes_no_folders(tmp_path: Path) -> None:
    overrides = [{"topics": ["a", "b"], "upload": {"maxBytes": "1Mi"}}, {"topics": ["c"], "upload": {"maxAge": "1m"}}]
    finish = {"policy": ["archive"], "allowedLateness": "10m"}
    topics = {"kafka__topics": REMOVE, "kafka__topicPattern": "."}
    more = {"output": {"archive": {}, "partitionBy": FOLDERS["partitionBy"]}, "storage__copies": [{"bucket": "far"}]}
    live = context.manifest(written(tmp_path / "live.yaml", finish=finish, overrides=overrides, **topics, **more))
    found = replayed(live, ["a", "d"])
    assert (found.spec.kafka.topics, found.group_id, found.spec.finish) == (("a", "d"), live.group_id, None)
    assert [(one.topics, one.upload) for one in found.spec.overrides] == [(("a",), live.spec.overrides[0].upload)]
    assert found.spec.output == live.spec.output


def test_a_hive_table_gets_its_folders_at_once_and_a_view_has_the_rows_of_both_tables(
    tmp_path: Path, capsys: Capture
) -> None:
    table: dict[str, Any] = {**HIVE["table"], "name": "lake.{topic}_{generation}", "partitions": "onFinish"}
    finish = {"policy": ["successFile"], "allowedLateness": "10m"}
    live = context.manifest(
        written(tmp_path / "live.yaml", **{**HIVE, "table": table}, finish=finish, generation=2, kafka__topics=["a"])
    )
    found = replayed(live, ["a"]).spec.table
    assert found is not None
    assert (found.partitions, found.name) == ("onFirstObject", "lake.{topic}_{generation}")
    note = ReplayNote("a", "id", 2, "abc", {1: (7, 9), 0: (0, 5)}, done=True)
    assert cli_replay._ended(live, [PlannedTopic(note)]) == Exit.OK
    assert "lake.a_2, and the other table where NOT ((kafka_partition = 0 AND " in capsys.readouterr().err
    with closing(sqlite3.connect(":memory:")) as engine:
        rows = ",".join(f"({partition}, {offset})" for partition in range(2) for offset in range(10))
        engine.execute(f"create table t as with r(kafka_partition, kafka_offset) as (values {rows}) select * from r")
        for bounds, left in ((note.bounds, 13), ({}, 20)):
            (count,) = engine.execute(f"select count(*) from t where {outside(bounds)}").fetchone()
            assert count == left


def test_a_topic_that_is_done_is_not_stored_again_beside_one_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, started = Bucket(), []
    notes = [ReplayNote(topic, "id", 2, "abc", {0: (0, 9)}, done=topic == "a") for topic in "ab"]

    def start(resource: LogPersister, _: object, options: MemberOptions) -> int:
        assert options.replay is not None
        started.append((resource.spec.kafka.topics, list(options.replay.bounds)))
        if len(started) > 1:
            delete_untold(bucket.store, "backup", TABLE, "b", [folder])
        return Exit.OK

    replaced: dict[str, Any] = {
        "_topics": lambda *_: ["a", "b", "c"],
        "_planned": lambda *_: [PlannedTopic(one, resumes=True) for one in notes],
        "_is_whole": lambda *_: True,
        "start": start,
        "fork_early": lambda _: None,
    }
    for name, instead in replaced.items():
        monkeypatch.setattr(cli_replay, name, instead)
    monkeypatch.setattr(cli_bucket, "opened", lambda *_: nullcontext(bucket.store))
    monkeypatch.setattr(check, "before_start", lambda *_, **__: None)
    monkeypatch.setattr(logs, "configure", lambda *_, **__: None)
    folder = Untold("dt=2026-11-29", 0)
    put_untold(bucket.store, "backup", TABLE, "b", folder)
    assert replay(tmp_path, kafka__topics=["a", "b", "c"]) == Exit.FAILED, "a folder is no partition yet"
    assert not list(list_replayed(bucket.store, "backup", "b"))
    assert replay(tmp_path, kafka__topics=["a", "b", "c"]) == Exit.OK
    assert started == 2 * [(("b",), [TopicPartition("b", 0)])]
    assert [note.topic for topic in "abc" for note in list_replayed(bucket.store, "backup", topic)] == ["b"]
