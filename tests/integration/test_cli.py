"""The commands that look: `check`, `lag` and `ls`, on a real broker and a real S3 server."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.errors import NoError
from kafka.structs import OffsetAndMetadata

from logpersister.cli import main, run
from logpersister.cli.brokers import patiently
from logpersister.cli.check import before_start
from logpersister.cli.exits import Exit
from logpersister.finish.telling import Message, NotTakenError
from logpersister.finish.topic_records import TopicRecords
from logpersister.kafka_client import client_config, producer
from logpersister.manifest import load
from logpersister.manifest.secrets import Secrets
from logpersister.plan.intents import Intent, promised, stored
from logpersister.ranges import TopicPartition
from logpersister.storage.names import object_key, revision_key
from logpersister.storage.store import open_store
from tests.stack import KafkaBroker, MinioServer
from tests.stack.artifacts import java, kafka_classpath
from tests.stack.fault_proxy import Answer, FaultProxy, Stall
from tests.stack.topics import Record, admin, delete_records, produce, transaction
from tests.stack.webhooks import receiving

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CreateTopic = Callable[..., str]
Manifest = Callable[..., Path]
pytestmark = pytest.mark.usefixtures("logging_as_before")


@pytest.fixture
def manifest(
    kafka: KafkaBroker, minio: MinioServer, s3_secret: str, bucket: str, unique: str, tmp_path: Path
) -> Manifest:
    """``manifest(topics=[...])`` writes a manifest on the session's servers; its group is `unique`."""

    def write(
        *, storage: Mapping[str, Any] | None = None, spec: Mapping[str, Any] | None = None, **settings: Any
    ) -> Path:
        document = {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "LogPersister",
            "metadata": {"name": "clicks-backup"},
            "spec": {
                "kafka": {"bootstrapServers": kafka.bootstrap, "groupId": unique, **settings},
                "storage": {
                    "bucket": bucket,
                    "prefix": "raw",
                    "endpoint": minio.endpoint,
                    "secretName": s3_secret,
                    **(storage or {}),
                },
                **(spec or {}),
            },
        }
        file = tmp_path / "clicks.yaml"
        file.write_text(json.dumps(document))  # JSON is YAML
        return file

    return write


def messages(found: Mapping[str, Any], verdict: str) -> str:
    """Return what a `check` says with a verdict."""
    return "\n".join(one["message"] for one in found["findings"] if one["verdict"] == verdict)


def run_json(capsys: pytest.CaptureFixture[str], *argv: str, code: Exit = Exit.OK) -> Any:
    assert main([*argv, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def commit(kafka: KafkaBroker, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
    committed = {
        KafkaTopicPartition(p.topic, p.partition): OffsetAndMetadata(offset, metadata, -1)
        for p, (offset, metadata) in offsets.items()
    }
    with admin(kafka.bootstrap) as client:

        def alter() -> None:
            for error in client.alter_group_offsets(group, committed).values():
                if error is not NoError:
                    raise error

        patiently("the offsets could not be committed", 30, alter)


class TestLag:
    def test_by_partition_with_intents_and_ages(
        self,
        kafka: KafkaBroker,
        topic: CreateTopic,
        manifest: Manifest,
        unique: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        name = topic(3)
        now = int(time.time() * 1000)
        records = [
            Record(b"x", partition=partition, timestamp=now - age * 1000)
            for partition in (0, 1, 2)
            for age in range(1000, 0, -10)
        ]
        produce(kafka.bootstrap, name, records)
        zero, one = TopicPartition(name, 0), TopicPartition(name, 1)
        intent = promised(Intent(zero, None, 50, (60, 80), "0123456789ab", 1))
        done = stored(100, None, 1)
        commit(kafka, unique, {zero: (50, intent.text), one: (100, done.text)})

        found = run_json(capsys, "lag", "-f", str(manifest(topics=[name])), "--all")

        assert found["complete"] is True
        assert (found["group"], found["state"], found["members"]) == (unique, "Empty", [])
        assert (found["lag"]["records"], found["lag"]["behindPartitions"], found["lag"]["partitions"]) == (150, 2, 3)
        by_partition = {one["partition"]: one for one in found["partitions"]}
        assert {number: one["records"] for number, one in by_partition.items()} == {0: 50, 1: 0, 2: 100}
        assert {number: one["committed"] for number, one in by_partition.items()} == {0: 50, 1: 100, 2: None}
        assert by_partition[0]["seconds"] == pytest.approx(500, rel=0.05, abs=5)
        assert by_partition[1]["seconds"] == 0
        assert by_partition[2]["seconds"] == pytest.approx(1000, rel=0.05, abs=5)
        assert found["pendingIntents"] == [
            {"topic": name, "partition": 0, "start": 50, "ends": [60, 80], "revision": "0123456789ab", "generation": 1}
        ]

        assert main(["lag", "-f", str(manifest(topics=[name]))]) == Exit.OK
        text = capsys.readouterr().out
        assert f"group {unique}: Empty, no members\n2 of 3 partitions behind: 150 records, oldest 16m" in text
        assert "being stored up to 80 by revision 0123456789ab" in text
        assert "nothing committed" in text

    def test_open_transactions_are_not_behind_when_reading_committed(
        self,
        kafka: KafkaBroker,
        topic: CreateTopic,
        manifest: Manifest,
        unique: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        name = topic()
        produce(kafka.bootstrap, name, [b"a"] * 5)
        with transaction(kafka.bootstrap, unique) as open_transaction:
            open_transaction.produce(name, [b"b"] * 3)
            committed = run_json(capsys, "lag", "-f", str(manifest(topics=[name])))
            uncommitted = run_json(capsys, "lag", "-f", str(manifest(topics=[name], isolationLevel="read_uncommitted")))
        assert (committed["lag"]["records"], uncommitted["lag"]["records"]) == (5, 8)

    @pytest.mark.parametrize(("start_from", "expected"), [("earliest", 4), ("latest", 0), ("2026-01-01T00:00:00Z", 1)])
    def test_without_commits_it_counts_from_where_the_group_would_begin(
        self,
        start_from: str,
        expected: int,
        kafka: KafkaBroker,
        topic: CreateTopic,
        manifest: Manifest,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        name = topic()
        new_year = 1_767_225_600_000
        produce(kafka.bootstrap, name, [Record(b"x", timestamp=new_year + day * 86_400_000) for day in (-3, -2, -1, 5)])
        found = run_json(capsys, "lag", "-f", str(manifest(topics=[name], startFrom=start_from)))
        assert found["lag"]["records"] == expected
        assert found["state"] == "new"

    def test_deleted_records_are_named(
        self,
        kafka: KafkaBroker,
        topic: CreateTopic,
        manifest: Manifest,
        unique: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        name = topic()
        produce(kafka.bootstrap, name, [b"x"] * 10)
        commit(kafka, unique, {TopicPartition(name, 0): (2, "lp1;topic=-;gen=1")})
        delete_records(kafka.bootstrap, name, {0: 6})

        found = run_json(capsys, "lag", "-f", str(manifest(topics=[name])), "--all")
        assert [(one["records"], one["lostRecords"]) for one in found["partitions"]] == [(8, 4)]

    @pytest.mark.parametrize("named_by", ["group_instance_id", "client_id"])
    def test_members_and_their_partitions(
        self,
        named_by: str,
        kafka: KafkaBroker,
        topic: CreateTopic,
        manifest: Manifest,
        unique: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        name = topic(4)
        consumer = KafkaConsumer(
            name,
            bootstrap_servers=kafka.bootstrap,
            group_id=unique,
            enable_auto_commit=False,
            **{named_by: "member-0"},
        )
        try:
            deadline = time.monotonic() + 30
            while not consumer.assignment() and time.monotonic() < deadline:
                consumer.poll(timeout_ms=100)
            found = run_json(capsys, "lag", "-f", str(manifest(topics=[name])))
        finally:
            consumer.close()
        assert found["state"] == "Stable"
        assert [(member["name"], member["partitions"]) for member in found["members"]] == [("member-0", 4)]

    def test_unreadable_intents_make_it_incomplete(
        self,
        kafka: KafkaBroker,
        topic: CreateTopic,
        manifest: Manifest,
        unique: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        good, bad = topic(), topic()
        for name in (good, bad):
            produce(kafka.bootstrap, name, [b"x"])
        commit(kafka, unique, {TopicPartition(bad, 0): (0, "lp9;who=knows")})

        found = run_json(capsys, "lag", "-f", str(manifest(topics=[good, bad])), code=Exit.UNREACHABLE)
        assert found["complete"] is False
        assert [one["topic"] for one in found["topics"]] == [good]
        assert [one["topic"] for one in found["errors"]] == [bad]

    def test_a_frozen_bootstrap_server_does_not_take_all_the_time(
        self, kafka: KafkaBroker, topic: CreateTopic, manifest: Manifest, capsys: pytest.CaptureFixture[str]
    ) -> None:
        name = topic(2)
        with FaultProxy(kafka.port) as frozen:
            frozen.inject(Stall(times=None))
            file = manifest(topics=[name], bootstrapServers=f"{frozen.address},{kafka.bootstrap}")
            found = run_json(capsys, "lag", "-f", str(file), "--timeout", "6s")
        assert [one["partitions"] for one in found["topics"]] == [2]

    def test_topics_by_pattern_and_topics_that_do_not_exist_yet(
        self, kafka: KafkaBroker, topic: CreateTopic, manifest: Manifest, capsys: pytest.CaptureFixture[str]
    ) -> None:
        name = topic(2)
        found = run_json(capsys, "lag", "-f", str(manifest(topicPattern=f"^{name}$")))
        assert [one["topic"] for one in found["topics"]] == [name]
        found = run_json(capsys, "lag", "-f", str(manifest(topics=[name, f"{name}-later"])))
        assert found["missingTopics"] == [f"{name}-later"]


class TestCheck:
    def test_everything_is_fine(
        self,
        kafka: KafkaBroker,
        topic: CreateTopic,
        manifest: Manifest,
        bucket: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        name = topic(3)
        found = run_json(capsys, "check", "-f", str(manifest(topics=[name])))

        assert found["ok"] is True
        assert [(one["subject"], one["verdict"]) for one in found["findings"]] == [
            ("manifest", "ok"),
            ("output", "ok"),
            ("output", "ok"),
            ("kafka", "ok"),
            ("topics", "ok"),
            ("group", "ok"),
            ("bucket", "ok"),
        ]
        assert main(["check", "-f", str(manifest(topics=[name]))]) == Exit.OK
        text = capsys.readouterr().out
        assert f"1 topic, 3 partitions: {name} (3)" in text
        assert f"s3://{bucket}/raw" in text
        assert kafka.bootstrap in text

    def test_no_topic_yet_is_a_warning(self, manifest: Manifest, capsys: pytest.CaptureFixture[str]) -> None:
        found = run_json(capsys, "check", "-f", str(manifest(topicPattern="^no-such-topic$")))
        warnings = [one["message"] for one in found["findings"] if one["verdict"] == "warning"]
        assert len(warnings) == 1
        assert "matches no topic yet" in warnings[0]

    @pytest.mark.parametrize(
        ("selected", "message"),
        [
            ({"topics": ["no-such-topic"]}, "no-such-topic: the topic does not exist; create it, or remove it"),
            ({"topicPattern": "^no-such-topic$"}, "matches no topic yet; create the topics first"),
        ],
    )
    def test_a_run_that_ends_does_not_begin_without_its_topics(
        self,
        selected: dict[str, Any],
        message: str,
        manifest: Manifest,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        started: list[object] = []

        def start(*arguments: object) -> int:
            started.append(arguments)
            return Exit.OK

        monkeypatch.setattr(run, "run_member", start)
        file = str(manifest(**selected))
        assert main(["run", "-f", file, "--until-current"]) == Exit.UNREACHABLE
        assert not started
        assert message in capsys.readouterr().err
        assert main(["run", "-f", file]) == Exit.OK
        assert started

    def test_a_missing_bucket_does_not_hide_what_kafka_said(
        self, topic: CreateTopic, manifest: Manifest, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = manifest(topics=[topic()], storage={"bucket": "there-is-no-such-bucket"})
        found = run_json(capsys, "check", "-f", str(file), code=Exit.UNREACHABLE)
        verdicts = {one["subject"]: one for one in found["findings"]}
        assert found["ok"] is False
        assert verdicts["kafka"]["verdict"] == "ok"
        assert verdicts["bucket"]["verdict"] == "failed"
        assert "there-is-no-such-bucket" in verdicts["bucket"]["message"]

    def test_a_missing_secret_is_exit_2(
        self, topic: CreateTopic, manifest: Manifest, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = manifest(topics=[topic()], storage={"secretName": "none"})
        found = run_json(capsys, "check", "-f", str(file), code=Exit.INVALID)
        assert "AWS_ACCESS_KEY_ID" in found["findings"][-1]["message"]

    def test_wrong_keys_are_exit_2(
        self, topic: CreateTopic, manifest: Manifest, secrets_dir: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (secrets_dir / "wrong").mkdir()
        (secrets_dir / "wrong" / "AWS_ACCESS_KEY_ID").write_text("clicks")
        (secrets_dir / "wrong" / "AWS_SECRET_ACCESS_KEY").write_text("mistyped")
        file = manifest(topics=[topic()], storage={"secretName": "wrong"})
        found = run_json(capsys, "check", "-f", str(file), code=Exit.INVALID)
        assert "does not know the access key id 'clicks'" in found["findings"][-1]["message"]

    def test_a_wrong_session_token_is_exit_2(
        self,
        topic: CreateTopic,
        manifest: Manifest,
        minio: MinioServer,
        secrets_dir: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        (secrets_dir / "session").mkdir()
        everything = {"Effect": "Allow", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::*"]}
        for key, value in minio.keys_for(everything).items():
            (secrets_dir / "session" / key).write_text(value)
        file = manifest(topics=[topic()], storage={"secretName": "session"})
        run_json(capsys, "check", "-f", str(file))
        token = secrets_dir / "session" / "AWS_SESSION_TOKEN"
        token.write_text(token.read_text()[:-9])
        found = run_json(capsys, "check", "-f", str(file), code=Exit.INVALID)
        message = found["findings"][-1]["message"]
        assert "session token of the access key id" in message
        assert "correct AWS_SESSION_TOKEN" in message

    def test_wrong_keys_of_the_environment_are_exit_2(
        self,
        topic: CreateTopic,
        manifest: Manifest,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "mistyped")
        file = manifest(topics=[topic()], storage={"secretName": None})
        found = run_json(capsys, "check", "-f", str(file), code=Exit.INVALID)
        assert "where the AWS SDK of this process finds it" in found["findings"][-1]["message"]

    def test_those_who_are_told_of_folders_are_looked_at(
        self,
        topic: CreateTopic,
        manifest: Manifest,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Each for itself; what is wrong with them is no reason for a member not to start."""
        monkeypatch.setattr(producer, "BOOTSTRAP_SECONDS", 2.0)
        name = topic()
        with receiving() as webhook:
            finish: dict[str, Any] = {
                "policy": ["webhook", "kafka"],
                "webhook": {"url": webhook.url},
                "kafka": {"topic": topic(2)},
            }
            by_day = {"output": {"partitionBy": [{"date": {"granularity": "day"}}]}}
            found = run_json(capsys, "check", "-f", str(manifest(topics=[name], spec=by_day | {"finish": finish})))
            assert [(one["subject"], one["verdict"]) for one in found["findings"]][-2:] == [
                ("webhook", "ok"),
                ("told", "ok"),
            ]
            assert webhook.posted == []
        finish["kafka"]["topic"] = "no-such-topic"
        file = manifest(topics=[name], spec=by_day | {"finish": finish})
        found = run_json(capsys, "check", "-f", str(file), code=Exit.UNREACHABLE)
        told = {one["subject"]: one["message"] for one in found["findings"] if one["verdict"] == "failed"}
        assert "it cannot be reached (Connection refused)" in told["webhook"]
        assert "no-such-topic: the topic does not exist; create it" in told["told"]
        resource = load(file)
        before_start(resource, Secrets(), 15.0)
        config = client_config(resource.spec.kafka, Secrets())
        with (
            pytest.raises(NotTakenError, match="it must exist"),
            TopicRecords(config, "no-such-topic").session() as send,
        ):
            send(Message("id", "a/b", 1, b"{}"))

    def test_a_group_that_another_program_uses(
        self,
        kafka: KafkaBroker,
        topic: CreateTopic,
        manifest: Manifest,
        unique: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """By the classic protocol, and by Kafka's own consumer with the one of KIP-848, which only it can describe."""
        name = topic()
        produce(kafka.bootstrap, name, [b"a"])
        file = str(manifest(topics=[name]))
        with closing(KafkaConsumer(name, bootstrap_servers=kafka.bootstrap, group_id=unique)) as consumer:
            deadline = time.monotonic() + 30
            while not consumer.assignment() and time.monotonic() < deadline:
                consumer.poll(timeout_ms=100)
            found = run_json(capsys, "check", "-f", file, code=Exit.INVALID)
            assert f"another program is in group {unique}: it speaks consumer: range" in messages(found, "failed")
            consumer.commit()
        found = run_json(capsys, "check", "-f", file)
        assert f"another program has committed offsets of group {unique}" in messages(found, "warning")

        console = ["org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", kafka.bootstrap]
        newest = ["--topic", name, "--group", f"{unique}-new", "--from-beginning", "--command-property"]
        program = [java(), "-cp", kafka_classpath(), *console, *newest, "group.protocol=consumer"]
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as consuming:
            try:
                assert consuming.stdout is not None
                assert consuming.stdout.readline() == b"a\n"
                found = run_json(
                    capsys, "check", "-f", str(manifest(topics=[name], groupId=f"{unique}-new")), code=Exit.INVALID
                )
            finally:
                consuming.kill()
        assert "it speaks the protocol of consumer groups" in messages(found, "failed").lower()

    def test_a_prefix_and_a_generation_that_are_taken(
        self,
        kafka: KafkaBroker,
        topic: CreateTopic,
        manifest: Manifest,
        unique: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        name = topic()
        file = manifest(topics=[name])
        with open_store(load(file).spec.storage, Secrets()) as store:
            _Writer(store, "another-group")(name, "dt=2026-11-20", 1, 0, 0, records=5)
        commit(kafka, unique, {TopicPartition(name, 0): (5, stored(5, None, 2).text)})

        found = run_json(capsys, "check", "-f", str(file), code=Exit.INVALID)
        assert f"group another-group has stored topic {name} there in generation 1" in messages(found, "failed")
        assert f"1 is lower than 2, in which group {unique} has stored already; write 2" in messages(found, "failed")

        monkeypatch.setattr(run, "run_member", lambda *_: Exit.OK)
        assert main(["run", "-f", str(file)]) == Exit.OK, "a member of the old generation restarts during an upgrade"
        assert "another-group" in capsys.readouterr().err
        by_pattern = manifest(topicPattern=f"^{name}$", groupId=f"{unique}-2")
        assert "another-group" in messages(
            run_json(capsys, "check", "-f", str(by_pattern), code=Exit.INVALID), "failed"
        )

    def test_nothing_is_left_in_the_bucket(
        self, topic: CreateTopic, manifest: Manifest, s3: "S3Client", bucket: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run_json(capsys, "check", "-f", str(manifest(topics=[topic()])))
        assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


class TestLs:
    @pytest.fixture
    def file(self, manifest: Manifest, unique: str) -> Path:
        """A manifest for clicks and orders, whose bucket has objects of two days, generations and groups."""
        file = manifest(topics=["clicks", "orders"])
        with open_store(load(file).spec.storage, Secrets()) as store:
            put = _Writer(store, unique)
            for start in (0, 100, 200):
                put("clicks", "dt=2026-11-20", 1, 0, start, records=100)
            put("clicks", "dt=2026-11-21", 1, 0, 300, records=7)
            put("clicks", "dt=2026-11-21", 2, 0, 307, records=5)
            put("orders", "", 1, 3, 0, records=1)
            put("orders", "", 1, 4, 0, records=1000, group="another-group")
            put("other-topic", "", 1, 0, 0, records=1)
            store.put_json(revision_key("raw", unique, "0123456789ab"), {"spec": {}})
        return file

    def test_folders(self, file: Path, unique: str, bucket: str, capsys: pytest.CaptureFixture[str]) -> None:
        found = run_json(capsys, "ls", "-f", str(file))

        assert (found["group"], found["bucket"], found["prefix"], found["truncated"]) == (unique, bucket, "raw", False)
        lines = [
            (one["topic"], one["path"], one["generation"], one["objects"], one["firstStart"], one["lastStart"])
            for one in found["folders"]
        ]
        assert lines == [
            ("clicks", "dt=2026-11-20", 1, 3, 0, 200),
            ("clicks", "dt=2026-11-21", 1, 1, 300, 300),
            ("clicks", "dt=2026-11-21", 2, 1, 307, 307),
            ("orders", "", 1, 2, 0, 0),
        ]
        assert found["totals"]["objects"] == 7

    def test_facts_count_records_and_leave_other_groups_out(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = run_json(capsys, "ls", "-f", str(file), "--facts")
        assert [one["records"] for one in found["folders"]] == [300, 7, 5, 1]
        assert found["totals"]["records"] == 313
        assert found["totals"]["foreignObjects"] == 1

    def test_objects(self, file: Path, unique: str, capsys: pytest.CaptureFixture[str]) -> None:
        found = run_json(
            capsys, "ls", "-f", str(file), "--objects", "--facts", "--topic", "clicks", "--generation", "2"
        )
        (one,) = found["objects"]
        assert one["key"] == "raw/clicks/dt=2026-11-21/2_0_00000000000000000307.txt"
        assert (one["start"], one["end"], one["records"], one["revision"]) == (307, 312, 5, "0123456789ab")

    def test_a_pattern_lists_all_its_topics_and_not_what_groups_remember(
        self, file: Path, manifest: Manifest, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = run_json(capsys, "ls", "-f", str(manifest(topicPattern="o")))
        assert {one["topic"] for one in found["folders"]} == {"orders", "other-topic"}

    def test_a_limit_ends_the_listing(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        found = run_json(capsys, "ls", "-f", str(file), "--objects", "--limit", "2")
        assert (len(found["objects"]), found["truncated"]) == (2, True)
        assert found["totals"] == {"objects": 2, "bytes": 200}

    def test_for_people(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["ls", "-f", str(file), "--facts"]) == Exit.OK
        text = capsys.readouterr().out
        assert text.startswith("TOPIC")
        assert "6 objects, 313 B, 313 records\nleft out: 1 object of other groups or programs\n" in text
        assert main(["ls", "-f", str(file), "--objects", "--limit", "1"]) == Exit.OK
        assert "only the first 1 line; there is more (--limit)" in capsys.readouterr().out

    def test_an_empty_bucket(self, manifest: Manifest, capsys: pytest.CaptureFixture[str]) -> None:
        found = run_json(capsys, "ls", "-f", str(manifest(topics=["clicks"])))
        assert (found["folders"], found["totals"]["objects"]) == ([], 0)

    def test_json_is_whole_or_nothing(
        self, file: Path, manifest: Manifest, s3_proxy: FaultProxy, capsys: pytest.CaptureFixture[str]
    ) -> None:
        proxied = manifest(topics=["clicks", "orders"], storage={"endpoint": s3_proxy.endpoint})
        s3_proxy.inject(Answer(matches=lambda line: "orders" in line, status=403, code="AccessDenied"))
        assert main(["ls", "-f", str(proxied), "--json"]) == Exit.UNREACHABLE
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "AccessDenied" in captured.err

    def test_folders_fit_a_terminal(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["ls", "-f", str(file), "--facts"]) == Exit.OK
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80

    def test_a_missing_bucket_is_exit_3(self, manifest: Manifest, capsys: pytest.CaptureFixture[str]) -> None:
        file = manifest(topics=["clicks"], storage={"bucket": "there-is-no-such-bucket"})
        assert main(["ls", "-f", str(file)]) == Exit.UNREACHABLE
        assert "there-is-no-such-bucket" in capsys.readouterr().err


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
