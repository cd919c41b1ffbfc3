"""``run --until-current``: everything that is there is stored once, and the process ends."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.harness.bucket import StoredObject
from tests.integration.harness.scene import Scene
from tests.integration.harness.spark_log import SparkLog
from tests.integration.harness.verification import Verify, kinds
from tests.integration.harness.workload import number

CreateTopic = Callable[..., str]
pytestmark = pytest.mark.timeout(900)  # this and all waiting has room for a busy machine
DAY_MS = 86_400_000
NOON_MS = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp() * 1000)


def test_stores_everything_once_and_ends(scene: Scene, topic: CreateTopic, tmp_path: Path, verify: Verify) -> None:
    clicks, orders, empty = topic(3), topic(1), topic(2)
    scene.workload.write(clicks, 2_000, partitions=[0, 1, 2], timestamp=lambda n: NOON_MS + n % 3 * DAY_MS)
    scene.workload.write(orders, 500, timestamp=lambda _: NOON_MS)
    spark_log = SparkLog(tmp_path)
    manifest = scene.manifest(
        kafka={"topics": [clicks, orders, empty]},
        output={"partitionBy": [{"date": {"granularity": "day"}}]},
        spark={"conf": spark_log.conf},
    )

    member = scene.run_until_current(manifest)

    objects = scene.assert_stored(clicks, orders, empty)
    assert {one.path for one in objects if one.topic == clicks} == {"dt=2026-03-28", "dt=2026-03-29", "dt=2026-03-30"}
    assert {one.path for one in objects if one.topic == orders} == {"dt=2026-03-28"}
    assert {one.extension for one in objects} == {".txt.gz"}
    assert len(objects) == 3 * 3 + 1, "small ranges are not cut"
    assert all(scene.group.is_current(name) for name in (clicks, orders))
    written = member.events("range.written")
    assert sum(event["records"] for event in written) == 6_500
    assert member.events("member.stopped", exit_code=0)
    assert "4 ranges in" in spark_log.text(), "one Spark job"
    for one in objects:
        assert_facts(one, scene.group.name)
    document = verify(manifest, "--deep")
    assert (document["ok"], document["complete"], kinds(document)) == (True, True, {})
    assert {one["topic"]: one["compared"] for one in document["topics"]} == {clicks: 6_000, orders: 500, empty: 0}

    again = scene.run_until_current(manifest)

    assert not again.events("range.written")
    assert [(one.key, one.modified) for one in scene.bucket.objects()] == [(one.key, one.modified) for one in objects]


def assert_facts(one: StoredObject, group: str) -> None:
    """Check what an object says of itself against its name and its content; values carry their offsets."""
    facts = one.metadata
    assert (facts["group"], facts["topic"], int(facts["partition"])) == (group, one.topic, one.partition)
    assert (int(facts["generation"]), int(facts["start"])) == (one.generation, one.start)
    offsets = [number(value) for value in one.values]
    assert (int(facts["first"]), int(facts["last"]), int(facts["records"])) == (offsets[0], offsets[-1], len(offsets))
