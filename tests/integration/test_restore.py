"""`logpersister restore` into a second broker: records, order, and groups are as they were."""

import json
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)
from kafka.structs import OffsetAndMetadata

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.integration.harness.examples import example
from tests.integration.harness.forks import begin
from tests.integration.harness.logs import write_compacted, write_transactions
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.waiting import eventually
from tests.stack import KafkaBroker
from tests.stack.clients import admin_client
from tests.stack.topics import (
    Record,
    alter_topic,
    create_topic,
    delete_records,
    end_offsets,
    produce,
    produce_many,
    read_all,
)

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
USER, PASSWORD = "alice", "correct-horse-battery"
SQUEEZED = 600
"""Records of the topic that is compressed by a codec for which kafka-python has no package here."""
WEEK = "604800000"
"""Milliseconds."""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A second cluster. Its brokers forget no record, however old, and no producer; who logs in needs rights."""
    properties = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    directory = tmp_path_factory.mktemp("other")
    with KafkaBroker(directory, listeners=["SASL_PLAINTEXT"], users={USER: PASSWORD}, properties=properties) as broker:
        yield broker


def restored(capsys: pytest.CaptureFixture[str], manifest: Path, *options: str, code: int = Exit.OK) -> Any:
    capsys.readouterr()
    ended = main(["restore", "-f", str(manifest), "--json", *options])
    out, error = capsys.readouterr()
    assert ended == code, error
    return json.loads(out) if code == Exit.OK else error


def without_offset(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    return [(one.value, one.key, one.partition, one.timestamp, one.headers) for one in records]


def assert_restored(source: str, topic: str, target: str, renamed: str) -> dict[int, list[Record]]:
    """Check that a topic is equal, record by record, and has no gaps; return what it had."""
    had, found = read_all(source, topic), read_all(target, renamed)
    assert had.keys() == found.keys()
    for partition, records in had.items():
        assert without_offset(found[partition]) == without_offset(records)
        assert [one.offset for one in found[partition]] == list(range(len(records)))
    return had


def as_kafka_prints(broker: KafkaBroker, topic: str) -> str:
    """Return records with their offsets, read by Kafka's own consumer: kafka-python lacks a codec here."""
    shown = [option for name in ("timestamp", "offset", "key") for option in ("--property", f"print.{name}=true")]
    return broker.run_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", broker.bootstrap, "--topic", topic, "--from-beginning"),
        *("--max-messages", str(SQUEEZED), *shown),
    )


def commit(bootstrap: str, group: str, topic: str, offsets: dict[int, int]) -> None:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    try:
        consumer.commit(
            {KafkaTopicPartition(topic, one): OffsetAndMetadata(offset, "", -1) for one, offset in offsets.items()}
        )
    finally:
        consumer.close()


def goes_on_at(bootstrap: str, group: str, topic: str) -> dict[int, Record]:
    """Return the first record of each partition that a consumer of a group gets."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, isolation_level="read_committed"
    )
    found: dict[int, Record] = {}
    try:
        partitions = [KafkaTopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
        consumer.assign(partitions)
        while len(found) < len(partitions):
            for partition, records in consumer.poll(timeout_ms=60_000).items():
                one = records[0]
                found.setdefault(partition.partition, Record(one.value, one.key, timestamp=one.timestamp))
    finally:
        consumer.close()
    return found


def strange(codec: str | None) -> list[Record]:
    """Return records whose fields are absent, empty, or look like each other."""
    headers = [("trace", b"1"), ("trace", b""), ("ü", b"\xff")]
    return [
        Record(None, b"deleted", timestamp=5),
        Record(b"null", b"", timestamp=4, headers=headers),
        Record(b"", None, timestamp=1_700_000_000_000),
        *(Record(f"{codec} {number}".encode() * 30, f"{number}".encode(), number % 3) for number in range(600)),
    ]


def test_topics_come_back(
    scene: Scene,
    topic: CreateTopic,
    kafka: KafkaBroker,
    other: KafkaBroker,
    unique: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    coded, transactional, compacted = topic(partitions=3), topic(), topic(cleanup_policy="compact")
    for codec in (None, "gzip", "zstd"):
        produce(kafka.bootstrap, coded, strange(codec), compression=codec)
    squeezed = topic()
    produce_many(kafka, squeezed, records=SQUEEZED, record_bytes=300, compression="lz4")
    write_transactions(kafka.bootstrap, transactional)
    write_compacted(kafka.bootstrap, compacted, padding=b"x" * 400)
    manifest = scene.manifest(
        kafka={"topics": [coded, transactional, compacted, squeezed]}, upload={"maxBytes": "64Ki"}, **example("backup")
    )
    scene.run_until_current(manifest)
    half = {number: len(records) // 2 for number, records in read_all(kafka.bootstrap, coded).items()}
    commit(kafka.bootstrap, unique, coded, half)
    commit(kafka.bootstrap, unique, transactional, {0: 500})

    to = tmp_path / "target.yaml"
    to.write_text(yaml.safe_dump({"kafka": {"bootstrapServers": other.bootstrap}}))
    table = tmp_path / "offsets.json"
    options = ["--to", str(to), "--topics", f"{coded},{transactional},{compacted},{squeezed}"]
    options += ["--rename", f"{coded}=again.{coded}"]
    planned = restored(capsys, manifest, *options, "--dry-run")
    assert [(one["made"], one["had"], one["produced"]) for one in planned["topics"]] == [(True, 0, 0)] * 4
    document = restored(capsys, manifest, *options, "--groups", unique, "--offsets", str(table))

    had = assert_restored(kafka.bootstrap, coded, other.bootstrap, f"again.{coded}")
    produced = [sum(map(len, had.values()))]
    for name in (transactional, compacted):
        produced += map(len, assert_restored(kafka.bootstrap, name, other.bootstrap, name).values())
    assert as_kafka_prints(kafka, squeezed) == as_kafka_prints(other, squeezed)
    produced.append(SQUEEZED)
    assert [one["produced"] for one in document["topics"]] == produced
    assert [one["records"] for one in document["topics"]] == produced

    assert {one["state"] for one in document["groups"]} == {"set"}
    for name, again in ((coded, f"again.{coded}"), (transactional, transactional)):
        before, after = goes_on_at(kafka.bootstrap, unique, name), goes_on_at(other.bootstrap, unique, again)
        assert before == after
    for one in json.loads(table.read_text())["partitions"]:
        if one["topic"] == squeezed:
            assert one["runs"] == [[0, 0, SQUEEZED]]
            continue
        old = [record.offset for record in read_all(kafka.bootstrap, one["topic"])[one["partition"]]]
        assert [(start + place, new + place) for start, new, count in one["runs"] for place in range(count)] == [
            (offset, place) for place, offset in enumerate(old)
        ]
    again = restored(capsys, manifest, *options, "--groups", unique)
    assert [one["produced"] for one in again["topics"]] == [0] * 4
    assert {one["state"].partition(" ")[0] for one in again["groups"]} == {"has"}

    produce(other.bootstrap, transactional, [b"of somebody else"])
    assert "more than the backup" in restored(capsys, manifest, *options, code=Exit.FAILED)
    _, gone, *others = scene.bucket.objects(squeezed)
    assert others
    scene.bucket.client.delete_object(Bucket=scene.bucket.name, Key=gone.key)
    options = ["--to", other.bootstrap, "--topics", squeezed, "--rename", f"{squeezed}=never"]
    assert f"{squeezed}-0[{gone.start},{gone.end})" in restored(capsys, manifest, *options, code=Exit.FAILED)
    with pytest.raises(LookupError):
        read_all(other.bootstrap, "never")


def allow(broker: KafkaBroker, kind: ResourceType, prefix: str, *operations: ACLOperation) -> None:
    pattern = ResourcePattern(kind, prefix, ACLResourcePatternType.PREFIXED)
    with admin_client(broker.bootstrap) as client:
        client.create_acls([ACL(f"User:{USER}", "*", one, ACLPermissionType.ALLOW, pattern) for one in operations])


def test_the_rights_of_the_page_are_enough_and_two_may_begin_at_once(
    scene: Scene,
    topic: CreateTopic,
    kafka: KafkaBroker,
    other: KafkaBroker,
    unique: str,
    tmp_path: Path,
    secrets_dir: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = topic(partitions=3)
    produce(kafka.bootstrap, name, strange(None))
    manifest = scene.manifest(kafka={"topics": [name]}, **example("backup"))
    scene.run_until_current(manifest)
    commit(kafka.bootstrap, unique, name, {0: 1})
    own = (ACLOperation.DESCRIBE, ACLOperation.READ, ACLOperation.WRITE, ACLOperation.DESCRIBE_CONFIGS)
    allow(other, ResourceType.TOPIC, name, *own, ACLOperation.CREATE)
    allow(other, ResourceType.GROUP, "logpersister-restore", ACLOperation.DESCRIBE)
    allow(other, ResourceType.TRANSACTIONAL_ID, "logpersister-restore", ACLOperation.DESCRIBE, ACLOperation.WRITE)
    (secrets_dir / "target").mkdir()
    (secrets_dir / "target" / "username").write_text(USER)
    (secrets_dir / "target" / "password").write_text(PASSWORD)
    security = {"protocol": "SASL_PLAINTEXT", "mechanism": "SCRAM-SHA-512", "secretName": "target"}
    to = tmp_path / "target.yaml"
    to.write_text(
        yaml.safe_dump({"kafka": {"bootstrapServers": other.address("SASL_PLAINTEXT"), "security": security}})
    )
    options = ["--to", str(to), "--topics", name]

    told = restored(capsys, manifest, *options, "--groups", "nobody", code=Exit.FAILED)
    assert "--groups: nobody has committed no offset" in told
    told = restored(capsys, manifest, *options, "--groups", unique, code=Exit.UNREACHABLE)
    assert f"--to: offsets of group {unique} cannot be read" in told
    with pytest.raises(LookupError):
        read_all(other.bootstrap, name)
    both = [begin(tmp_path / f"{number}.log", "restore", "-f", str(manifest), *options) for number in range(2)]
    assert [one.wait(300) for one in both] == [Exit.OK, Exit.OK], "both make the topic"
    allow(other, ResourceType.GROUP, unique, ACLOperation.READ)
    document = restored(capsys, manifest, *options, "--groups", unique)
    assert_restored(kafka.bootstrap, name, other.bootstrap, name)
    assert [(one["produced"], one["made"]) for one in document["topics"]] == [(0, False)]
    assert {one["partition"]: (one["new"], one["state"]) for one in document["groups"]}[0] == (1, "set")


@pytest.mark.soak  # tests/unit/restore/test_worlds.py plays all courses with such faults
def test_processes_and_brokers_die(
    scene: Scene,
    topic: CreateTopic,
    kafka: KafkaBroker,
    other: KafkaBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    many = topic(partitions=2)
    small = {"batch.size": "2000"}
    for codec in ("none", "gzip"):
        produce_many(kafka, many, records=60_000, record_bytes=100, compression=codec, properties=small)
    manifest = scene.manifest(kafka={"topics": [many]}, upload={"maxBytes": "4Mi"}, **example("backup"))
    scene.run_until_current(manifest)
    create_topic(other.bootstrap, many, partitions=2, configs={"retention.ms": "1000"})
    told = restored(capsys, manifest, "--to", other.bootstrap, "--topics", many, code=Exit.FAILED)
    assert f"topic {many} of the target has retention.ms=1000: Kafka would delete old records" in told
    alter_topic(other.bootstrap, many, {"retention.ms": "-1"})
    command = ["restore", "-f", str(manifest), "--to", other.bootstrap, "--topics", many]

    def there() -> int:
        return sum(end_offsets(other.bootstrap, many).values())

    killed = begin(tmp_path / "killed.log", *command)
    try:
        eventually("some records are there", lambda: there() > 1_000)
    finally:
        killed.kill()
        killed.wait()
    assert 1_000 < there() < 120_000
    alter_topic(other.bootstrap, many, {"retention.ms": WEEK})
    told = restored(capsys, manifest, "--to", other.bootstrap, "--topics", many, code=Exit.FAILED)
    assert f"has retention.ms={WEEK}: Kafka would delete old records" in told, "not all is restored yet"
    alter_topic(other.bootstrap, many, {"retention.ms": "-1"})
    both = [begin(tmp_path / f"{number}.log", *command) for number in range(2)]
    try:
        eventually("more records are there", lambda: there() > 40_000)
        other.kill()
        other.start()
        assert [one.wait(300) for one in both] == [Exit.OK, Exit.OK], "two at once do no harm"
    finally:
        for one in both:
            one.kill()
            one.wait()
    assert_restored(kafka.bootstrap, many, other.bootstrap, many)


@pytest.mark.soak  # tests/unit/restore/test_worlds.py plays deletion and compaction, too
def test_kafka_deletes_and_compacts_meanwhile(
    scene: Scene,
    topic: CreateTopic,
    kafka: KafkaBroker,
    other: KafkaBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    many, keyed = topic(), topic()
    produce_many(kafka, many, records=100_000, record_bytes=100, properties={"batch.size": "2000"})
    records = [Record(f"{one}".encode() * 20, f"{one % 37}".encode(), timestamp=one * 50) for one in range(1_000)]
    produce(kafka.bootstrap, keyed, records, batch_size=2_000)
    manifest = scene.manifest(kafka={"topics": [many, keyed]}, upload={"maxBytes": "4Mi"}, **example("backup"))
    scene.run_until_current(manifest)

    create_topic(other.bootstrap, many)
    log = tmp_path / "deleted.log"
    process = begin(log, "restore", "-f", str(manifest), "--to", other.bootstrap, "--topics", many)
    try:
        eventually("some records are there", lambda: end_offsets(other.bootstrap, many)[0] > 1_000)
        process.send_signal(signal.SIGSTOP)
        assert end_offsets(other.bootstrap, many)[0] < 100_000
        delete_records(other.bootstrap, many, {0: 700})
        process.send_signal(signal.SIGCONT)
        assert process.wait(300) == Exit.FAILED
    finally:
        process.kill()
        process.wait()
    told = f"{many}-0 of the target begins at offset 700: Kafka has deleted the records before it"
    assert told in log.read_text()
    there = end_offsets(other.bootstrap, many)
    assert told in restored(capsys, manifest, "--to", other.bootstrap, "--topics", many, code=Exit.FAILED)
    assert end_offsets(other.bootstrap, many) == there, "nothing is produced again"

    often = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
    create_topic(other.bootstrap, keyed, configs={"cleanup.policy": "compact", **often})
    command = ["restore", "-f", str(manifest), "--to", other.bootstrap, "--topics", keyed]
    assert main(command) == Exit.OK
    assert f"topic {keyed} of the target is compacted: Kafka keeps the last" in capsys.readouterr().err
    eventually("the target is compacted", lambda: len(read_all(other.bootstrap, keyed)[0]) < 500)
    [document] = restored(capsys, manifest, *command[3:])["topics"]
    assert (document["had"], document["produced"]) == (1_000, 0)
    kept = {one.key: one for one in records}
    found = {one.key: one.value for one in read_all(other.bootstrap, keyed)[0]}
    assert found == {key: one.value for key, one in kept.items()}, "the last of each key"
