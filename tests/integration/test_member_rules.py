"""Two builds whose rules give records other paths: one finishes what the other began, and no record is in two objects.

The other build is ours with another edition of tzdata: one in which Berlin had never had a summer time.
"""

import importlib.util
import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.harness.bucket import StoredObject, assert_exactly_once
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import Record, produce, read_all

pytestmark = pytest.mark.soak

HOUR_MS = 3_600_000
DAYS = {0: datetime(2026, 7, 1, 10, tzinfo=UTC), 1: datetime(2026, 1, 1, 11, tzinfo=UTC)}
"""By partition. Both are from noon on in Berlin; by the other edition only the second one is."""
BY_HOUR = [{"date": {"granularity": level, "timezone": "Europe/Berlin"}} for level in ("day", "hour")]


@pytest.fixture(scope="session")
def other_tzdata(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the environment of processes that have the other edition."""
    place = tmp_path_factory.mktemp("edition")
    edition = place / "tzdata"
    ours = importlib.util.find_spec("tzdata")
    assert ours is not None
    assert ours.origin is not None
    shutil.copytree(Path(ours.origin).parent, edition)
    shutil.copy(edition / "zoneinfo" / "Africa" / "Lagos", edition / "zoneinfo" / "Europe" / "Berlin")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(place), os.environ.get("PYTHONPATH")]))}


def test_what_another_build_began_is_finished_only_where_the_paths_agree(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, verify: Verify, other_tzdata: Mapping[str, str]
) -> None:
    name, summer, winter = topic(2), 0, 1
    write(scene, name)
    manifest = scene.manifest(
        kafka={"topics": [name]},
        storage={"endpoint": s3_proxy.endpoint},
        output={"text": {"compression": "none"}, "partitionBy": BY_HOUR},
    )
    fault = stalled_puts("/hr=14/")
    s3_proxy.inject(fault)
    begun = scene.member(manifest, "one")
    begun.wait("the last objects of both are on their way", lambda: fault.met >= 2)
    begun.wait("all others exist", lambda: len(scene.bucket.names(name)) == 4)
    begun.kill()
    begun.wait_gone()
    s3_proxy.clear()
    before = in_bucket(scene, name, summer)

    other = scene.member(manifest, "two", environment=other_tzdata)
    other.wait(
        "one is held, the other one finished", lambda: other.held() and not scene.group.pending(name).get(winter)
    )
    assert other.held() == {f"{name}-{summer}": "other-rules"}
    (line,) = other.events("partition.held")
    assert "zone:Europe/Berlin" in line["message"]
    assert before[0].key in line["message"]
    assert in_bucket(scene, name, summer) == before
    assert scene.group.pending(name) == {summer: (300,)}
    write(scene, name)
    other.wait(
        "what follows in the other partition is stored", lambda: scene.group.committed(name)[winter].offset == 600
    )
    other.stop()

    scene.run_until_current(manifest)
    objects = scene.bucket.objects(name)
    in_kafka = {
        (name, number): [record.value for record in found if record.value is not None]
        for number, found in read_all(scene.kafka.bootstrap, name).items()
    }
    assert_exactly_once(objects, in_kafka)
    assert {one.path for one in in_bucket(scene, name, summer)} == {f"dt=2026-07-01/hr={hour}" for hour in (12, 13, 14)}
    verify(manifest, "--deep", finds={})


def write(scene: Scene, topic: str) -> None:
    """Write a hundred records of each of three hours into both partitions."""
    records = (
        Record(
            os.urandom(50).hex().encode(), partition=partition, timestamp=int(first.timestamp() * 1000) + hour * HOUR_MS
        )
        for partition, first in DAYS.items()
        for hour in range(3)
        for _ in range(100)
    )
    produce(scene.kafka.bootstrap, topic, records)


def in_bucket(scene: Scene, topic: str, partition: int) -> list[StoredObject]:
    return [one for one in scene.bucket.objects(topic) if one.partition == partition]
