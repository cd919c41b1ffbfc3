"""The commands that look: `check`, `lag` and `ls`, on a real broker and a real S3 server."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import NoError
from kafka.structs import OffsetAndMetadata

from logpersister.cli import main, run
from logpersister.cli.brokers import patiently
from logpersister.cli.check import before_start
from logpersister.cli.exits import Exit
from logpersister.kafka_client import producer
from logpersister.manifest import load
from logpersister.manifest.secrets import Secrets
from logpersister.plan.intents import Intent, promised, stored
from logpersister.ranges import TopicPartition
from logpersister.storage.names import object_key, revision_key
from logpersister.storage.store import open_store
from tests.integration.harness.waiting import eventually
from tests.stack import KafkaBroker, MinioServer
from tests.stack.clients import admin_client
from tests.stack.topics import Record, delete_records, produce, transaction
from tests.stack.webhooks import receiving
from tests.unit.manifest.documents import changed

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.usefixtures("logging_as_before")
Settings = Mapping[str, Any]


@dataclass
class Commands:
    """Commands on manifests of one group, on the session's servers."""

    kafka: KafkaBroker
    topic: Callable[..., str]
    group: str
    _storage: Settings
    _file: Path
    _capsys: pytest.CaptureFixture[str]

    def manifest(
        self,
        topics: list[str] | None = None,
        storage: Settings | None = None,
        spec: Settings | None = None,
        **kafka: Any,
    ) -> str:
        """Write a manifest; ``kafka`` has more settings of spec.kafka."""
        settings = {"bootstrapServers": self.kafka.bootstrap, "groupId": self.group, **kafka}
        kafka_spec = settings | ({"topics": topics} if topics else {})
        storage = {**self._storage, **(storage or {})}
        document = changed({"spec.kafka": kafka_spec, "spec.storage": storage})
        document["spec"] |= spec or {}
        self._file.write_text(json.dumps(document))  # JSON is YAML
        return str(self._file)

    def json(self, command: str, *options: str, code: Exit = Exit.OK, **manifest: Any) -> Any:
        """Return the document of a command on such a manifest."""
        assert main([command, "-f", self.manifest(**manifest), *options, "--json"]) == code
        return json.loads(self.said())

    def text(self, command: str, *options: str, **manifest: Any) -> str:
        """Return what a command on such a manifest says to people."""
        assert main([command, "-f", self.manifest(**manifest), *options]) == Exit.OK
        return self.said()

    def said(self) -> str:
        return self._capsys.readouterr().out

    def complained(self) -> str:
        return self._capsys.readouterr().err

    def commit(self, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        committed = {
            KafkaTopicPartition(p.topic, p.partition): OffsetAndMetadata(offset, metadata, -1)
            for p, (offset, metadata) in offsets.items()
        }
        with admin_client(self.kafka.bootstrap) as client:

            def alter() -> None:
                for error in client.alter_group_offsets(self.group, committed).values():
                    if error is not NoError:
                        raise error

            patiently("the offsets could not be committed", 30, alter)


@pytest.fixture
def cli(
    kafka: KafkaBroker,
    minio: MinioServer,
    s3_secret: str,
    bucket: str,
    topic: Callable[..., str],
    unique: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Commands:
    storage = {"bucket": bucket, "prefix": "raw", "endpoint": minio.endpoint, "secretName": s3_secret}
    return Commands(kafka, topic, unique, storage, tmp_path / "clicks.yaml", capsys)


def messages(found: Settings, verdict: str) -> str:
    """Return what a `check` says with a verdict."""
    return "\n".join(one["message"] for one in found["findings"] if one["verdict"] == verdict)


class TestLag:
    """What becomes of Kafka's answers is in tests/unit/cli/test_lag.py."""

    def test_by_partition_with_intents_ages_losses_and_open_transactions(self, cli: Commands) -> None:
        name, intents = cli.topic(5), {}
        now = int(time.time() * 1000)
        records = [
            Record(b"x", partition=partition, timestamp=now - age * 1000)
            for partition in range(5)
            for age in range(1000, 0, -10)
        ]
        produce(cli.kafka.bootstrap, name, records)
        pending, current, _, lost, opened = (TopicPartition(name, number) for number in range(5))
        intents[pending] = 50, promised(Intent(pending, None, 50, (60, 80), "0123456789ab", 1)).text
        intents[current] = 100, stored(100, None, 1).text
        intents[lost] = 2, "lp1;topic=-;gen=1"
        intents[opened] = 100, stored(100, None, 1).text
        cli.commit(intents)
        delete_records(cli.kafka.bootstrap, name, {lost.partition: 6})
        with transaction(cli.kafka.bootstrap, cli.group) as open_transaction:
            open_transaction.produce(name, [Record(b"b", partition=opened.partition)] * 3)
            found = cli.json("lag", "--all", topics=[name])
            uncommitted = cli.json("lag", topics=[name], isolationLevel="read_uncommitted")
            text = cli.text("lag", topics=[name])

        assert found["complete"] is True
        assert (found["group"], found["state"], found["members"]) == (cli.group, "Empty", [])
        lag = found["lag"]
        assert (lag["records"], lag["behindPartitions"], lag["partitions"]) == (50 + 100 + 98, 3, 5)
        assert uncommitted["lag"]["records"] == lag["records"] + 3
        by_partition = {one["partition"]: one for one in found["partitions"]}
        assert [by_partition[number]["records"] for number in range(5)] == [50, 0, 100, 98, 0]
        assert [by_partition[number]["committed"] for number in range(5)] == [50, 100, None, 2, 100]
        assert by_partition[3]["lostRecords"] == 4
        assert by_partition[0]["seconds"] == pytest.approx(500, rel=0.05, abs=5)
        assert by_partition[1]["seconds"] == 0
        assert by_partition[2]["seconds"] == pytest.approx(1000, rel=0.05, abs=5)
        assert found["pendingIntents"] == [
            {"topic": name, "partition": 0, "start": 50, "ends": [60, 80], "revision": "0123456789ab", "generation": 1}
        ]
        assert f"group {cli.group}: Empty, no members\n3 of 5 partitions behind: " in text

    def test_without_commits_it_counts_from_where_the_group_would_begin(self, cli: Commands) -> None:
        name, new_year = cli.topic(), 1_767_225_600_000
        days = [Record(b"x", timestamp=new_year + day * 86_400_000) for day in (-3, -2, -1, 5)]
        produce(cli.kafka.bootstrap, name, days)
        for start, expected in (("earliest", 4), ("latest", 0), ("2026-01-01T00:00:00Z", 1)):
            found = cli.json("lag", topics=[name], startFrom=start)
            assert (found["lag"]["records"], found["state"]) == (expected, "new"), start
        found = cli.json("lag", topicPattern=f"^{name}$")
        assert [one["topic"] for one in found["topics"]] == [name]
        assert cli.json("lag", topics=[name, f"{name}-later"])["missingTopics"] == [f"{name}-later"]


class TestCheck:
    def test_everything_is_fine(self, cli: Commands, s3: "S3Client", bucket: str) -> None:
        """And nothing is left in the bucket."""
        name = cli.topic(3)
        found = cli.json("check", topics=[name])

        assert found["ok"] is True
        subjects = ["manifest", "output", "output", "kafka", "topics", "group", "bucket"]
        assert [(one["subject"], one["verdict"]) for one in found["findings"]] == [(one, "ok") for one in subjects]
        text = cli.text("check", topics=[name])
        assert f"1 topic, 3 partitions: {name} (3)" in text
        assert f"s3://{bucket}/raw" in text
        assert cli.kafka.bootstrap in text
        assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0

    def test_a_run_that_ends_does_not_begin_without_its_topics(
        self, cli: Commands, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run, "run_member", started := Mock(return_value=Exit.OK))
        for selected, message in (
            ({"topics": ["no-such-topic"]}, "no-such-topic: the topic does not exist; create it, or remove it"),
            ({"topicPattern": "^no-such-topic$"}, "matches no topic yet; create the topics first"),
        ):
            started.reset_mock()
            file = cli.manifest(**selected)
            assert main(["run", "-f", file, "--until-current"]) == Exit.UNREACHABLE
            started.assert_not_called()
            assert message in cli.complained()
            assert main(["run", "-f", file]) == Exit.OK
            started.assert_called_once()

    def test_those_who_are_told_of_folders_are_looked_at(self, cli: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each for itself; what is wrong with them is no reason for a member not to start."""
        monkeypatch.setattr(producer, "BOOTSTRAP_SECONDS", 2.0)
        name = cli.topic()
        with receiving() as webhook:
            finish: dict[str, Any] = {
                "policy": ["webhook", "kafka"],
                "webhook": {"url": webhook.url},
                "kafka": {"topic": cli.topic(2)},
            }
            by_day = {"output": {"partitionBy": [{"date": {"granularity": "day"}}]}}
            found = cli.json("check", topics=[name], spec=by_day | {"finish": finish})
            assert [(one["subject"], one["verdict"]) for one in found["findings"]][-2:] == [
                ("webhook", "ok"),
                ("told", "ok"),
            ]
            assert webhook.posted == []
        finish["kafka"]["topic"] = "no-such-topic"
        found = cli.json("check", topics=[name], spec=by_day | {"finish": finish}, code=Exit.UNREACHABLE)
        told = {one["subject"]: one["message"] for one in found["findings"] if one["verdict"] == "failed"}
        assert "it cannot be reached (Connection refused)" in told["webhook"]
        assert "no-such-topic: the topic does not exist; create it" in told["told"]
        before_start(load(Path(cli.manifest(topics=[name], spec=by_day | {"finish": finish}))), Secrets(), 15.0)

    def test_a_group_that_another_program_uses(self, cli: Commands) -> None:
        """By the classic protocol, and by Kafka's own consumer with the one of KIP-848, which only it can describe."""
        name, bootstrap = cli.topic(), cli.kafka.bootstrap
        produce(bootstrap, name, [b"a"])
        with closing(KafkaConsumer(name, bootstrap_servers=bootstrap, group_id=cli.group, client_id="m-0")) as consumer:
            eventually("it has a partition", lambda: consumer.poll(timeout_ms=1_000) or consumer.assignment())
            found = cli.json("lag", topics=[name])
            assert (found["state"], found["members"][0]["name"]) == ("Stable", "m-0")
            assert found["members"][0]["partitions"] == 1
            found = cli.json("check", topics=[name], code=Exit.INVALID)
            assert f"another program is in group {cli.group}: it speaks consumer: range" in messages(found, "failed")
        cli.commit({TopicPartition(name, 0): (1, "")})  # by nobody in it: who was not polled meanwhile may have left
        found = cli.json("check", topics=[name])
        assert f"another program has committed offsets of group {cli.group}" in messages(found, "warning")

        console = ["org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", bootstrap]
        newest = ["--topic", name, "--group", f"{cli.group}-new", "--from-beginning", "--command-property"]
        program = cli.kafka.tool(*console, *newest, "group.protocol=consumer")
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as consuming:
            try:
                assert consuming.stdout is not None
                assert consuming.stdout.readline() == b"a\n"
                found = cli.json("check", topics=[name], groupId=f"{cli.group}-new", code=Exit.INVALID)
            finally:
                consuming.kill()
        assert "it speaks the protocol of consumer groups" in messages(found, "failed").lower()

    def test_a_prefix_and_a_generation_that_are_taken(self, cli: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
        name = cli.topic()
        with open_store(load(Path(cli.manifest(topics=[name]))).spec.storage, Secrets()) as store:
            _Writer(store, "another-group")(name, "dt=2026-11-20", 1, 0, 0, records=5)
        cli.commit({TopicPartition(name, 0): (5, stored(5, None, 2).text)})

        found = messages(cli.json("check", topics=[name], code=Exit.INVALID), "failed")
        assert f"group another-group has stored topic {name} there in generation 1" in found
        assert f"1 is lower than 2, in which group {cli.group} has stored already; write 2" in found

        monkeypatch.setattr(run, "run_member", lambda *_: Exit.OK)
        started = main(["run", "-f", cli.manifest(topics=[name])])
        assert started == Exit.OK, "a member of the old generation restarts during an upgrade"
        assert "another-group" in cli.complained()
        found = cli.json("check", topicPattern=f"^{name}$", groupId=f"{cli.group}-2", code=Exit.INVALID)
        assert "another-group" in messages(found, "failed")


class TestLs:
    @pytest.fixture
    def topics(self, cli: Commands) -> list[str]:
        """Clicks and orders; the bucket has objects of two days, generations and groups."""
        topics = ["clicks", "orders"]
        with open_store(load(Path(cli.manifest(topics=topics))).spec.storage, Secrets()) as store:
            put = _Writer(store, cli.group)
            for start in (0, 100, 200):
                put("clicks", "dt=2026-11-20", 1, 0, start, records=100)
            put("clicks", "dt=2026-11-21", 1, 0, 300, records=7)
            put("clicks", "dt=2026-11-21", 2, 0, 307, records=5)
            put("orders", "", 1, 3, 0, records=1)
            put("orders", "", 1, 4, 0, records=1000, group="another-group")
            put("other-topic", "", 1, 0, 0, records=1)
            store.put_json(revision_key("raw", cli.group, "0123456789ab"), {"spec": {}})
        return topics

    def test_folders_objects_and_records(self, cli: Commands, topics: list[str], bucket: str) -> None:
        """Of one's own group; a pattern lists all its topics, and not what groups remember."""
        found = cli.json("ls", topics=topics)
        assert (found["group"], found["bucket"], found["prefix"]) == (cli.group, bucket, "raw")
        assert (found["truncated"], found["totals"]["objects"]) == (False, 7)
        assert [
            (one["topic"], one["path"], one["generation"], one["objects"], one["firstStart"], one["lastStart"])
            for one in found["folders"]
        ] == [
            ("clicks", "dt=2026-11-20", 1, 3, 0, 200),
            ("clicks", "dt=2026-11-21", 1, 1, 300, 300),
            ("clicks", "dt=2026-11-21", 2, 1, 307, 307),
            ("orders", "", 1, 2, 0, 0),
        ]
        found = cli.json("ls", "--facts", topics=topics)
        assert [one["records"] for one in found["folders"]] == [300, 7, 5, 1]
        assert (found["totals"]["records"], found["totals"]["foreignObjects"]) == (313, 1)
        one_of_them = ["--objects", "--facts", "--topic", "clicks", "--generation", "2"]
        (one,) = cli.json("ls", *one_of_them, topics=topics)["objects"]
        assert one["key"] == "raw/clicks/dt=2026-11-21/2_0_00000000000000000307.txt"
        assert (one["start"], one["end"], one["records"], one["revision"]) == (307, 312, 5, "0123456789ab")
        found = cli.json("ls", "--objects", "--limit", "2", topics=topics)
        assert (len(found["objects"]), found["truncated"]) == (2, True)
        assert found["totals"] == {"objects": 2, "bytes": 200}
        found = cli.json("ls", topicPattern="o")
        assert {one["topic"] for one in found["folders"]} == {"orders", "other-topic"}


class _Writer:
    """Puts objects of records; each record is one byte."""

    def __init__(self, store: Any, group: str) -> None:
        self._store = store
        self._group = group

    def __call__(
        self, topic: str, path: str, generation: int, partition: int, start: int, *, records: int, group: str = ""
    ) -> None:
        key = object_key("raw", topic, path, generation, partition, start, ".txt")
        metadata = {
            "group": group or self._group,
            "generation": str(generation),
            "revision": "0123456789ab",
            "topic": topic,
            "topic-id": "",
            "partition": str(partition),
            "start": str(start),
            "end": str(start + records),
        }
        writer = self._store.writer(key, metadata, content_type="text/plain")
        writer.write(b"x" * records)
        writer.finish(
            {
                "first": str(start),
                "last": str(start + records - 1),
                "records": str(records),
                "tombstones": "0",
                "checksum": "crc32:00000000",
            }
        )
