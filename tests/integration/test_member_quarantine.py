"""Records in quarantine: held, stored, told, and replayed beside a member."""

import io
import json
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from logpersister.cli import main
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.finishing import HOUR_MS, MIDNIGHT_MS
from tests.integration.harness.forks import begin
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, kinds
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import Record, produce

QUARANTINE = "_quarantine"
HOURS = [f"dt=2026-03-28/hr={hour:02d}" for hour in range(3)]
BY_HOUR = [{"date": {"granularity": level}} for level in ("day", "hour")]


def test_quarantine_is_held_stored_and_replayed_and_the_replay_killed_beside_a_member(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, verify: Verify, tmp_path: Path
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
    assert_told(member, name, source)

    fault = stalled_puts(f"/{HOURS[1]}/")
    s3_proxy.inject(fault)
    command = ["quarantine", "replay", "-f", str(manifest("string", storage=storage))]
    replaying = begin(tmp_path / "replay.log", *command)
    try:
        member.wait("an object of the replay is on its way", lambda: fault.met)
    finally:
        replaying.kill()
        replaying.wait()
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
        path, rows = key.split(f"/{name}/")[1].rpartition("/")[0], scene.bucket.rows(key)
        found.update((path, *((-1, "{") if path == QUARANTINE else (int(row["id"]), ""))) for row in rows)
    assert found == {
        **{(path, number, ""): 1 for path in HOURS for number in range(60)},
        (QUARANTINE, -1, "{"): len(HOURS),
    }

    produce(scene.kafka.bootstrap, name, every[:61])  # the member goes on, under the old schema
    scene.group.wait_current(name, explain=member.tail)
    document = verify(old, "--deep", finds={})
    assert document["topics"][0]["compared"] == len(every) + 61


def assert_told(member: MemberProcess, topic: str, key: str) -> None:
    """Check what a member tells of a range: in its log, its status and its metrics."""
    member.wait("it is told", lambda: member.status()["quarantine"]["records"] == 93)
    (line,) = member.events("records.quarantined")
    told = {"records": 93, "first_offset": 0, "key": key, "level": "warning"}
    assert {name: line[name] for name in told} == told
    (recent,) = member.status()["quarantine"]["recent"]
    assert (recent["offset"], recent["records"], recent["reason"], recent["key"]) == (0, 93, line["reason"], key)
    assert member.metrics()[f'logpersister_quarantined_records_total{{topic="{topic}"}}'] == 93
    assert f">{topic}</a>" in member.page("/")
    assert key in member.page(f"/topics/{topic}")
