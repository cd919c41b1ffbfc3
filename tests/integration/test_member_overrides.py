"""Topics of different shape in one group: rows, envelopes and lines, of which one changes and the others do not."""

import json
from typing import Any

from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, said_json
from tests.stack.topics import Record, produce

RECORDS = 60
ROWS: dict[str, Any] = {"fields": [{"name": "id", "type": "int64"}, {"name": "country", "type": "string"}]}


def write(scene: Scene, topics: list[str], begin: int, end: int) -> None:
    for topic in topics:
        values = (json.dumps({"id": number, "country": "DE" if number % 2 else "AT"}) for number in range(begin, end))
        produce(scene.kafka.bootstrap, topic, (Record(value.encode(), b"key", partition=0) for value in values))


def test_each_topic_has_its_shape_and_changes_alone(scene: Scene, topic: CreateTopic, verify: Verify) -> None:
    orders, events, raw = topics = [topic(1), topic(1), topic(2)]
    of_orders = {
        "topics": [orders],
        "value": {"json": ROWS},
        "output": {"orc": {}, "partitionBy": [{"field": "country", "prefix": "of="}]},
    }
    of_events = {"topicPattern": f"^{events}$", "output": {"jsonl": {"compression": "none"}}}
    group: dict[str, Any] = {"kafka": {"topics": topics}, "output": {"text": {"compression": "none"}}}
    write(scene, topics, 0, RECORDS)
    produce(scene.kafka.bootstrap, raw, [Record(None, b"key", partition=1)] * 3)
    manifest = scene.manifest(**group, overrides=[of_orders, of_events])
    findings = said_json("check", "-f", str(manifest))["findings"]
    told = [one["message"] for one in findings if one["subject"] == "overrides"]
    assert told == [f"spec.overrides[0]: {orders}", f"spec.overrides[1]: {events}"]
    scene.run_until_current(manifest)
    before = {name: revisions(scene, name) for name in topics}

    write(scene, topics, RECORDS, 2 * RECORDS)
    by_offset = {"jsonl": {"compression": "none"}, "partitionBy": [{"offset": {"every": 50}}]}
    changed = {**of_events, "output": by_offset}
    manifest = scene.manifest(**group, overrides=[changed, of_orders])
    scene.run_until_current(manifest)

    after = {name: revisions(scene, name) for name in topics}
    assert len({*before[orders], *before[events], *before[raw]}) == 3
    assert (after[orders], after[raw]) == (before[orders], before[raw]), "these have no other revision than before"
    assert len(after[events]) == 2
    verify(manifest, "--deep", finds={}, compared=[2 * RECORDS, 2 * RECORDS, 2 * RECORDS + 3])

    rows = [row for key in scene.bucket.names(orders) for row in scene.bucket.rows(key)]
    assert sorted(row["id"] for row in rows) == list(range(2 * RECORDS))
    assert all(("of=DE" in key) != ("of=AT" in key) for key in scene.bucket.names(orders))
    lines = [json.loads(line) for key in scene.bucket.names(events) for line in scene.bucket.content(key).splitlines()]
    assert sorted(line["kafka_offset"] for line in lines) == list(range(2 * RECORDS))
    assert {key.split("/")[-2] for key in scene.bucket.names(events)} >= {"offset=50", "offset=100"}
    assert {key.rpartition(".")[2] for key in scene.bucket.names(raw)} == {"txt"}
    # Tombstones alone are an empty object: without it, the range could not be told from a hole.
    (empty,) = (key for key in scene.bucket.names(raw) if "/1_1_" in key)
    assert scene.bucket.content(empty) == b""
    names = ("records", "tombstones", "first", "last")
    assert [scene.bucket.metadata(empty)[name] for name in names] == ["3", "3", "0", "2"]


def revisions(scene: Scene, topic: str) -> set[str]:
    """Return the revisions that the objects of a topic name."""
    return {scene.bucket.metadata(key)["revision"] for key in scene.bucket.names(topic)}
