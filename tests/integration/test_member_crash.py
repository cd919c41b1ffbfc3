"""Members that are killed with -9, and those that come after them: what was promised is what is written, once."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.scene import Scene
from tests.stack.fault_proxy import FaultProxy

CreateTopic = Callable[..., str]
pytestmark = pytest.mark.timeout(900)

HOUR_MS = 3_600_000
SUCCESSORS = ["restarted", "taken-over"]
"""Who comes after a member that was killed; each of the two scenes plays one of them, `make soak` the other."""
MIDNIGHT_MS = int(datetime(2026, 3, 28, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize("successor", ["one", pytest.param("two", marks=pytest.mark.soak)], ids=SUCCESSORS)
def test_killed_in_the_middle_of_a_range(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, successor: str
) -> None:
    name = topic(2)
    scene.workload.write(name, 800, partitions=[0, 1], size=10_000)
    manifest = scene.manifest(
        kafka={"topics": [name]},
        storage={"endpoint": s3_proxy.endpoint, "partSize": "5Mi"},
        output={"text": {"compression": "none"}},
    )
    fault = stalled_puts("partNumber=2")
    s3_proxy.inject(fault)
    member = scene.member(manifest, "one")
    member.wait("both uploads are half way", lambda: fault.met >= 2)
    promised = scene.group.pending(name)

    member.kill()
    member.wait_gone()

    assert promised == {0: (800,), 1: (800,)}
    assert scene.group.pending(name) == promised
    assert not scene.bucket.names(name), "a half object must not be visible"
    scene.workload.write(name, 100, partitions=[0, 1])
    s3_proxy.clear()
    after = scene.member(manifest, successor)
    scene.group.wait_current(name, explain=after.tail)

    objects = scene.assert_stored(name)
    taken = {(one.partition, one.start, one.end) for one in objects if one.start < 800}
    assert taken == {(0, 0, 800), (1, 0, 800)}
    assert {scene.bucket.parts(one) for one in objects if one.start < 800} == {2}
    assert not scene.bucket.unfinished_uploads()
    taken_over = after.events("partition.takes_over")
    assert sorted((event["partition"], event["start"], event["ends"]) for event in taken_over) == [
        (0, 0, [800]),
        (1, 0, [800]),
    ]


@pytest.mark.parametrize("successor", [pytest.param("one", marks=pytest.mark.soak), "two"], ids=SUCCESSORS)
def test_killed_when_some_objects_of_a_range_exist(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, successor: str
) -> None:
    """Three types in four hours are twelve small objects, which are put one after the other."""
    name = topic()
    scene.workload.write(
        name,
        1_200,
        timestamp=lambda n: MIDNIGHT_MS + n * HOUR_MS // 300,
        header=lambda n: ("event-type", (b"order", b"refund", b"audit")[n % 3]),
    )
    manifest = scene.manifest(
        kafka={"topics": [name]},
        storage={"endpoint": s3_proxy.endpoint},
        output={"partitionBy": [{"date": {"granularity": level}} for level in ("day", "hour")]},
        types={"header": "event-type", "entries": [{"pattern": ".", "value": {"bytes": {}}}]},
    )
    fault = stalled_puts("/type=order/dt=2026-03-28/hr=03/")
    s3_proxy.inject(fault)
    member = scene.member(manifest, "one")
    member.wait("the object of one folder is on its way", lambda: fault.met)
    member.wait("the others exist", lambda: len(scene.bucket.names(name)) == 11)
    before = {one.key: one.values for one in scene.bucket.objects(name)}

    member.kill()
    member.wait_gone()

    assert scene.group.pending(name) == {0: (1_200,)}
    s3_proxy.clear()
    other = scene.member(manifest, successor)
    scene.group.wait_current(name, explain=other.tail)

    after = {one.key: one.values for one in scene.assert_stored(name)}
    assert len(after) == 12
    assert before.items() <= after.items()
