"""Values that are no JSON, under ``spec.value: {json: {}}``: nothing stops, nothing is lost, each is on its side."""

import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from logpersister.cli import main
from tests.integration.harness.bucket import StoredObject
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify, kinds
from tests.readers.messagepack import decode_map
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import Record, produce, read_all

CreateTopic = Callable[..., str]
pytestmark = pytest.mark.timeout(900)

QUARANTINE = "_quarantine"
HOUR_MS = 3_600_000
MIDNIGHT_MS = int(datetime(2026, 3, 28, tzinfo=UTC).timestamp() * 1000)
HOURS = [f"dt=2026-03-28/hr={hour:02d}" for hour in range(3)]
VALUES: list[bytes | None] = [
    b'{"good": 1}',
    b'{"good": "z\xc3\xb6lf \xf0\x9d\x84\x9e"}',
    b'{"cut off": ',
    None,
    b"",
    b" [1, 2.5e3, true, null] ",
    b"\xff\xfe\x00no text",
    b"[NaN]",
    b'"\\ud83d"',
    b'\xef\xbb\xbf{"byte order": "mark"}',
    b"[" * 128 + b"]" * 128,
    b"[" * 129 + b"]" * 129,
    b"0",
    b"{} {}",
]
BAD = {VALUES[place] for place in (2, 4, 6, 7, 9, 11, 13)}
"""By hand: what stands here is not found by the code that is tested."""
BAD_EACH = len(BAD)

TEXT: dict[str, Any] = {"text": {"compression": "gzip"}}
SEQUENCES: dict[str, Any] = {"sequencefile": {"key": "messagepack"}}
BY_HOUR = [{"date": {"granularity": level}} for level in ("day", "hour")]


def write(scene: Scene, topic: str, rounds: int, partitions: Sequence[int] = (0,)) -> None:
    """Write every value in each hour, again and again."""
    records = (
        Record(value, b"key-%d" % turn, partition=partition, timestamp=MIDNIGHT_MS + hour * HOUR_MS)
        for turn in range(rounds)
        for hour in range(len(HOURS))
        for value in VALUES
        for partition in partitions
    )
    produce(scene.kafka.bootstrap, topic, records)


def path_of(record: Record, *, by_hour: bool) -> str:
    if record.value in BAD:
        return QUARANTINE
    assert record.timestamp is not None
    return HOURS[(record.timestamp - MIDNIGHT_MS) // HOUR_MS] if by_hour else ""


def assert_on_their_sides(scene: Scene, topic: str, output: dict[str, Any]) -> list[StoredObject]:
    """Check what is in which folder, read by nobody's relative; return the objects."""
    objects = scene.bucket.objects(topic)
    by_hour, is_text = bool(output.get("partitionBy")), "text" in output
    for partition, records in read_all(scene.kafka.bootstrap, topic).items():
        expected: dict[str, list[Any]] = {}
        for record in records:
            item = (record.offset, record.key, record.value or b"")
            if not (is_text and record.value is None):  # left out by text
                expected.setdefault(path_of(record, by_hour=by_hour), []).append(item[2] if is_text else item)
        found: dict[str, list[Any]] = {}
        for one in objects:
            if one.partition == partition:
                found.setdefault(one.path, []).extend(one.values if is_text else items(one))
        assert found == expected
    return objects


def items(one: StoredObject) -> list[Any]:
    keys = [decode_map(key) for key in one.keys if isinstance(key, bytes)]
    return [(key[1], key[2], value) for key, value in zip(keys, one.values, strict=True)]


def assert_verified(verify: Verify, manifest: Any, records: int) -> None:
    document = verify(manifest, "--deep", finds={})
    assert [(one["records"], one["compared"]) for one in document["topics"]] == [(records, records)]


@pytest.mark.parametrize(
    "output", [TEXT, pytest.param(SEQUENCES, marks=pytest.mark.soak)], ids=["text", "sequencefile"]
)
def test_killed_when_the_quarantine_of_a_range_is_on_its_way(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, verify: Verify, output: dict[str, Any]
) -> None:
    name, rounds = topic(2), 20
    output = {**output, "partitionBy": BY_HOUR}
    write(scene, name, rounds, partitions=[0, 1])
    manifest = scene.manifest(
        kafka={"topics": [name]},
        storage={"endpoint": s3_proxy.endpoint},
        output=output,
        value={"json": {}},
    )
    fault = stalled_puts(f"/{QUARANTINE}/")
    s3_proxy.inject(fault)
    member = scene.member(manifest, "one")
    member.wait("both quarantines are on their way", lambda: fault.met >= 2)
    member.wait("all other objects exist", lambda: len(scene.bucket.names(name)) == 2 * len(HOURS))
    before = {one.key: one.values for one in scene.bucket.objects(name)}

    member.kill()
    member.wait_gone()

    every = rounds * len(HOURS) * len(VALUES)
    assert scene.group.pending(name) == {0: (every,), 1: (every,)}
    s3_proxy.clear()
    write(scene, name, 1)
    after = scene.member(manifest, "two")
    scene.group.wait_current(name, explain=after.tail)

    objects = assert_on_their_sides(scene, name, output)
    assert before.items() <= {one.key: one.values for one in objects}.items()
    assert {one.metadata["parser"] for one in objects} == {"json"}
    assert_verified(verify, manifest, 2 * every + len(HOURS) * len(VALUES))
    assert_told(after, name, 2 * rounds + 1)


def assert_told(member: MemberProcess, topic: str, rounds: int) -> None:
    """Check what a member tells that has stored everything: in its log, its metrics and its status."""
    refused = rounds * len(HOURS) * BAD_EACH
    member.wait("everything is told", lambda: member.status()["quarantine"]["records"] == refused)
    lines = member.events("records.quarantined")
    assert {line["level"] for line in lines} == {"warning"}
    assert sum(line["records"] for line in lines) == refused
    first = next(line for line in lines if (line["partition"], line["start"]) == (0, 0))
    assert (first["first_offset"], first["reason"]) == (2, "not JSON: EOF while parsing a value at line 1 column 12")
    assert f"/{topic}/{QUARANTINE}/1_0_" in first["key"]
    assert "cut off" not in json.dumps(lines), "never anything of a value"

    quarantine = member.status()["quarantine"]
    assert quarantine["last"] == quarantine["recent"][0]["time"]
    assert sum(one["records"] for one in quarantine["recent"]) == refused
    oldest = next(one for one in quarantine["recent"] if (one["partition"], one["offset"]) == (0, 2))
    assert oldest == {
        "time": oldest["time"],
        "topic": topic,
        "partition": 0,
        "offset": 2,
        "reason": first["reason"],
        "records": first["records"],
        "key": first["key"],
    }
    metrics = member.metrics()
    assert metrics[f'logpersister_quarantined_records_total{{topic="{topic}"}}'] == refused
    assert member.status()["uploads"]["records"] == rounds * len(HOURS) * len(VALUES)


@pytest.mark.soak
def test_killed_and_forgotten_by_kafka_when_only_the_good_records_are_stored(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, verify: Verify
) -> None:
    """Without folders and without offsets: one object of a range does not prove that there is no other."""
    name = topic()
    write(scene, name, 10)
    manifest = scene.manifest(
        kafka={"topics": [name]}, storage={"endpoint": s3_proxy.endpoint}, output=TEXT, value={"json": {}}
    )
    fault = stalled_puts(f"/{QUARANTINE}/")
    s3_proxy.inject(fault)
    member = scene.member(manifest)
    member.wait("the quarantine is on its way", lambda: fault.met)
    member.wait("the other object exists", lambda: len(scene.bucket.names(name)) == 1)
    member.kill()
    member.wait_gone()
    s3_proxy.clear()
    scene.group.wait_empty()
    scene.group.forget(name, [0])
    write(scene, name, 1)

    scene.run_until_current(manifest)

    assert_on_their_sides(scene, name, TEXT)
    assert_verified(verify, manifest, 11 * len(HOURS) * len(VALUES))


def test_quarantine_is_held_stored_and_replayed_and_the_replay_killed_beside_a_member(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, verify: Verify
) -> None:
    """A schema was wrong. Its records come back without Kafka, once each, whenever the replay dies."""
    name = topic()
    output = {"parquet": {}, "partitionBy": BY_HOUR}
    storage = {"endpoint": s3_proxy.endpoint}

    def manifest(type_: str, limit: str = "60%", **parts: Any) -> Path:
        value = {"json": {"fields": [{"name": "id", "type": type_, "required": True}]}}
        quarantine = {"format": "parquet", "holdAbove": limit}
        return scene.manifest(kafka={"topics": [name]}, output=output, value=value, quarantine=quarantine, **parts)

    values = [b'{"id": %d}' % number if number % 2 else b'{"id": "%d"}' % number for number in range(60)] + [b"{"]
    every = [
        Record(value, b"key", timestamp=MIDNIGHT_MS + hour * HOUR_MS) for hour in range(len(HOURS)) for value in values
    ]
    produce(scene.kafka.bootstrap, name, every)
    old, new = manifest("int64"), manifest("string")
    held = scene.run_until_current(manifest("int64", "20%"), code=4)
    (hold,) = held.events("partition.held")
    assert "refuses 93 of the 183 records" in hold["message"]
    assert scene.bucket.names(name) == []

    member = scene.member(old)  # its limit counts, though the other revision has promised the range
    scene.group.wait_current(name, explain=member.tail)
    (source,) = (key for key in scene.bucket.names(name) if f"/{QUARANTINE}/" in key)

    fault = stalled_puts(f"/{HOURS[1]}/")
    s3_proxy.inject(fault)
    command = ["quarantine", "replay", "-f", str(manifest("string", storage=storage))]
    with subprocess.Popen([sys.executable, "-m", "logpersister", *command]) as replaying:
        member.wait("an object of the replay is on its way", lambda: fault.met)
        replaying.kill()
    s3_proxy.clear()
    assert source in scene.bucket.names(name)
    document = verify(new, "--deep")
    assert {kind for kind, _ in kinds(document)} <= {"replay"}
    assert document["topics"][0]["compared"] == len(every)

    with redirect_stdout(io.StringIO()) as out:
        assert main([*command, "--json"]) == 0
    assert json.loads(out.getvalue())["totals"] == {
        "objects": 1,
        "records": 93,
        "accepted": 90,
        "refused": 3,
        "leftOut": 0,
        "deleted": 0,
        "adjusted": {"values": 0, "reasons": {}},
    }
    assert source not in scene.bucket.names(name)
    found: Counter[tuple[str, int, str]] = Counter()
    for key in scene.bucket.names(name):
        content = scene.bucket.client.get_object(Bucket=scene.bucket.name, Key=key)["Body"].read()
        path, rows = key.split(f"/{name}/")[1].rpartition("/")[0], pq.read_table(io.BytesIO(content)).to_pylist()
        found.update((path, *((-1, "{") if path == QUARANTINE else (int(row["id"]), ""))) for row in rows)
    assert found == {
        **{(path, number, ""): 1 for path in HOURS for number in range(60)},
        (QUARANTINE, -1, "{"): len(HOURS),
    }

    produce(scene.kafka.bootstrap, name, every[:61])  # the member goes on, under the old schema
    scene.group.wait_current(name, explain=member.tail)
    document = verify(old, "--deep", finds={})
    assert document["topics"][0]["compared"] == len(every) + 61
