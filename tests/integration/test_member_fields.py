"""Fields of the manifest that change what a member does, each seen from outside."""

import gzip
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import fastavro
import pytest

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify, kinds
from tests.readers.messagepack import decode_map
from tests.stack.topics import (
    Record,
    add_partitions,
    create_topic,
    produce,
    produce_many,
    read_all,
    transaction,
)

CreateTopic = Callable[..., str]
pytestmark = pytest.mark.timeout(900)

EVENING = datetime(2026, 3, 28, 17, 30, tzinfo=UTC)
MINUTE_MS = 60_000


def milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def test_start_at_a_time_and_folders_of_a_time_zone(scene: Scene, topic: CreateTopic) -> None:
    name = topic()
    scene.workload.write(name, 180, timestamp=lambda n: milliseconds(EVENING) + n * MINUTE_MS)
    levels = [{"date": {"granularity": level, "timezone": "Asia/Kolkata"}} for level in ("day", "hour")]
    manifest = scene.manifest(
        kafka={"topics": [name], "startFrom": (EVENING + timedelta(minutes=30)).isoformat()},
        output={"compression": "zstd", "partitionBy": levels},
    )

    scene.run_until_current(manifest)

    objects = scene.bucket.objects(name)
    assert_exactly_once(objects, {(name, 0): scene.workload.produced(name)[name, 0][30:]})
    assert {one.path: len(one.values) for one in objects} == {  # 18:00 UTC is 23:30 in Kolkata
        "dt=2026-03-28/hr=23": 30,
        "dt=2026-03-29/hr=00": 60,
        "dt=2026-03-29/hr=01": 60,
    }
    assert {(one.start, one.extension) for one in objects} == {(30, ".txt.zst")}


@pytest.mark.soak
def test_folders_by_a_long_of_avro(scene: Scene, topic: CreateTopic, verify: Verify) -> None:
    """Secor's usual case: the time is milliseconds in a `long` of the producers' schema, and the column stays one."""
    name = topic()
    schema = {"type": "record", "name": "Click", "fields": [{"name": "at", "type": "long"}]}
    times = [milliseconds(EVENING) + n * MINUTE_MS for n in range(90)] + [-1, milliseconds(EVENING) * 1000]
    values = []
    for time in times:
        value = io.BytesIO()
        fastavro.schemaless_writer(value, schema, {"at": time})
        values.append(value.getvalue())
    produce(scene.kafka.bootstrap, name, values)
    by_time = {"field": "at", "format": "epoch[ms]", "timezone": "Asia/Kolkata"}
    manifest = scene.manifest(
        kafka={"topics": [name]},
        parser={"type": "avro", "framing": "plain"},
        schema={"avro": json.dumps(schema)},
        output={
            "format": "parquet",
            "partitionBy": [{"date": {"granularity": one, **by_time}} for one in ("day", "hour")],
        },
        finish={"idleAfter": "1h"},
    )

    scene.run_until_current(manifest)

    assert {one.split("/", 2)[2].rpartition("/")[0] for one in scene.bucket.names(name)} == {
        "dt=2026-03-28/hr=23", "dt=2026-03-29/hr=00", "dt=unknown/hr=unknown"
    }  # fmt: skip
    document = verify(manifest, "--deep")
    assert (document["ok"], kinds(document)) == (True, {})
    assert [one["compared"] for one in document["topics"]] == [len(times)]


def test_pattern_latest_and_limits_by_topic(scene: Scene, unique: str, verify: Verify) -> None:
    """A long-running member: topics and partitions join, or are left out, and each has the limits of its topic."""
    names = ("fast", "slow", "large", "private", "late.fast")
    fast, slow, large, private, late = (f"{unique}.{name}" for name in names)
    bootstrap = scene.kafka.bootstrap
    for name in (fast, slow, large, private):
        create_topic(bootstrap, name)
        scene.workload.write(name, 50)
    manifest = scene.manifest(
        kafka={
            "topicPattern": f"^{unique}",
            "excludeTopicPattern": "private$",
            "startFrom": "latest",
        },
        upload={"maxAge": "1h"},
        overrides=[
            {"topicPattern": "fast$", "upload": {"maxAge": "1s"}},
            {"topicPattern": "large$", "upload": {"maxBytes": "64Ki"}},
        ],
    )
    member = scene.member(manifest)
    member.wait_event("partition.resumed", count=3)

    scene.workload.write(slow, 50)
    scene.workload.write(private, 50)
    scene.workload.write(large, 400, size=1_000)
    scene.workload.write(fast, 50)
    create_topic(bootstrap, late)
    member.wait_event("partition.resumed", topic=late)
    scene.workload.write(late, 50)
    add_partitions(bootstrap, fast, 2)
    member.wait_event("partition.resumed", topic=fast, partition=1)
    scene.workload.write(fast, 50, partitions=[1])
    scene.group.wait_current(fast, late, explain=member.tail)
    member.wait_event("range.written", topic=large, count=3)

    produced = scene.workload.produced(fast, late)
    after_start = {of: values for of, values in produced.items() if of != (fast, 0)}
    after_start[fast, 0] = produced[fast, 0][50:]
    assert_exactly_once([*scene.bucket.objects(fast), *scene.bucket.objects(late)], after_start)
    stored = [value for one in scene.bucket.objects(large) for value in one.values]
    assert stored == scene.workload.produced(large)[large, 0][50 : 50 + len(stored)], "full objects do not wait"
    assert not scene.bucket.objects(slow)
    assert not scene.bucket.objects(private)
    assert scene.group.committed(slow)[0].offset == 50, "where the group began is decided once"
    assert not scene.group.committed(private)

    member.terminate()
    assert member.wait_end() == 0
    document = verify(manifest, "--deep")
    assert (document["ok"], kinds(document)) == (True, {})


def test_isolation_level_group_prefix_and_sequence_files(scene: Scene, topic: CreateTopic, unique: str) -> None:
    name = topic()
    bootstrap = scene.kafka.bootstrap
    scene.workload.write(name, 5)
    for turn, kept in enumerate((True, False, True)):
        with transaction(bootstrap, f"{unique}-{turn}") as current:
            records = [Record(scene.workload.value(name, 0), key=b"%d" % n if n else None) for n in range(10)]
            current.produce(name, records)
            if not kept:
                current.abort()
    committed = scene.manifest(kafka={"topics": [name]}, output={"format": "sequencefile"})
    everything = scene.manifest(
        kafka={"topics": [name], "isolationLevel": "read_uncommitted", "groupId": f"{unique}-all"},
        storage={"prefix": "every/thing"},
        output={"format": "sequencefile", "sequencefile": {"key": "messagepack", "compressionType": "record"}},
    )

    scene.run_until_current(committed)
    scene.run_until_current(everything)

    (some,) = scene.bucket.objects(name)
    in_kafka = read_all(bootstrap, name, committed=True)[0]
    assert len(in_kafka) == 25
    assert list(zip(some.keys, some.values, strict=True)) == [(one.offset, one.value) for one in in_kafka]
    assert (some.extension, some.metadata["group"]) == (".seq", unique)
    (every,) = scene.bucket_at("every/thing").objects(name)
    in_kafka = read_all(bootstrap, name, committed=False)[0]
    assert len(in_kafka) == 35
    assert every.values == tuple(one.value for one in in_kafka)
    assert [decode_map(key) for key in every.keys if isinstance(key, bytes)] == [
        {1: one.offset, 3: one.timestamp} | ({} if one.key is None else {2: one.key}) for one in in_kafka
    ]
    assert (every.extension, every.metadata["group"]) == (".seq", f"{unique}-all")


@pytest.mark.soak
def test_folders_by_minute_and_offset_text_settings_and_storage_class(scene: Scene, topic: CreateTopic) -> None:
    name, odd = topic(), topic()
    scene.workload.write(name, 250, timestamp=lambda n: milliseconds(EVENING) + n // 150 * MINUTE_MS)
    values = (None, b"", b"with\x1ea delimiter", b"two\nlines", b"a \\ backslash")
    produce(scene.kafka.bootstrap, odd, [Record(value, key=b"k", timestamp=milliseconds(EVENING)) for value in values])
    manifest = scene.manifest(
        kafka={"topics": [name, odd]},
        storage={"storageClass": "REDUCED_REDUNDANCY", "pathStyle": True, "region": "us-east-1"},
        output={
            "compression": "none",
            "partitionBy": [{"date": {"granularity": "minute", "prefix": "at="}}, {"offset": {"every": 100}}],
            "text": {"delimiter": "\u001e", "delimiterInValue": "escape", "tombstones": "empty"},
        },
    )

    scene.run_until_current(manifest)

    bucket = scene.bucket_at("raw", delimiter=b"\x1e")
    objects = bucket.objects(name)
    assert_exactly_once(objects, scene.workload.produced(name))
    assert [(one.path, one.start, len(one.values)) for one in objects] == [
        ("at=2026-03-28-17-30/offset=0", 0, 100),
        ("at=2026-03-28-17-30/offset=100", 0, 50),
        ("at=2026-03-28-17-31/offset=100", 0, 50),
        ("at=2026-03-28-17-31/offset=200", 0, 50),
    ]
    assert {(one.extension, one.storage_class) for one in objects} == {(".txt", "REDUCED_REDUNDANCY")}
    (stored,) = bucket.objects(odd)
    assert stored.values == (b"", b"", b"with\\x1ea delimiter", b"two\nlines", b"a \\\\ backslash")
    assert stored.metadata["tombstones"] == "1"


@pytest.mark.parametrize("compression", ["none", pytest.param("gzip", marks=pytest.mark.soak)])
def test_tombstones_alone_are_an_empty_object(scene: Scene, topic: CreateTopic, compression: str) -> None:
    """It says that they were there; without it, the range could not be told from a hole."""
    name = topic()
    produce(scene.kafka.bootstrap, name, [Record(None, key=b"k")] * 3)

    scene.run_until_current(scene.manifest(kafka={"topics": [name]}, output={"compression": compression}))

    (key,) = scene.bucket.names(name)
    answer = scene.bucket.client.get_object(Bucket=scene.bucket.name, Key=key)
    content = answer["Body"].read()
    assert (gzip.decompress(content) if compression == "gzip" else content) == b""
    facts = answer["Metadata"]
    assert (facts["records"], facts["tombstones"], facts["first"], facts["last"]) == ("3", "3", "0", "2")


def test_objects_are_as_large_as_asked(scene: Scene, topic: CreateTopic) -> None:
    name = topic(2)
    produce_many(scene.kafka, name, records=60_000, record_bytes=1_000)
    size = 2 << 20

    scene.run_until_current(scene.manifest(kafka={"topics": [name]}, upload={"maxBytes": size}))

    objects = scene.assert_stored(name)
    rests = {of: max(one.start for one in objects if one.of == of) for of in {one.of for one in objects}}
    full = [one.size / size for one in objects if one.start < rests[one.of]]
    near = [ratio for ratio in full if 0.8 <= ratio <= 1.2]
    assert len(full) >= 12
    assert len(near) >= 0.9 * len(full), full


def test_a_new_generation_begins_where_the_old_one_ends(scene: Scene, topic: CreateTopic) -> None:
    """In a bucket without a prefix."""
    name = topic(2)
    kafka, storage = {"topics": [name]}, {"prefix": ""}
    scene.workload.write(name, 300, partitions=[0, 1])
    scene.run_until_current(scene.manifest(kafka=kafka, storage=storage))
    scene.workload.write(name, 200, partitions=[0, 1])
    changed = scene.manifest(
        generation=2, kafka=kafka, storage=storage, output={"format": "sequencefile", "compression": "none"}
    )

    scene.run_until_current(changed)

    objects = scene.bucket_at("").objects(name)
    assert_exactly_once(objects, scene.workload.produced(name))
    assert [(one.generation, one.of, one.start, one.end, one.extension) for one in objects] == [
        (generation, (name, partition), start, end, extension)
        for partition in (0, 1)
        for generation, start, end, extension in ((1, 0, 300, ".txt.gz"), (2, 300, 500, ".seq"))
    ]
