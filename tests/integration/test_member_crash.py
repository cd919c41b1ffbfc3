"""Members that are killed with -9, and those that come after them: what was promised is what is written, once."""

import pytest

from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.finishing import HOUR_MS, MIDNIGHT_MS
from tests.integration.harness.scene import CreateTopic, Scene
from tests.stack.fault_proxy import FaultProxy


@pytest.mark.parametrize("successor", [pytest.param("one", marks=pytest.mark.soak), "two"], ids=["restarted", "other"])
def test_killed_in_the_middle_of_ranges(scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, successor: str) -> None:
    """One object is half way, and of another range eleven of twelve objects exist."""
    large, small = topic(), topic()
    scene.workload.write(large, 800, size=10_000)
    scene.workload.write(small, 1_200, timestamp=lambda n: MIDNIGHT_MS + n * HOUR_MS // 100)
    manifest = scene.manifest(
        kafka={"topics": [large, small]},
        storage={"endpoint": s3_proxy.endpoint, "partSize": "5Mi"},
        output={"partitionBy": [{"date": {"granularity": level}} for level in ("day", "hour")]},
        overrides=[{"topics": [large], "output": {"text": {"compression": "none"}}}],
    )
    half, last = stalled_puts("partNumber=2"), stalled_puts("/hr=11/")
    s3_proxy.inject(half)
    s3_proxy.inject(last)
    member = scene.member(manifest, "one")
    member.wait("the upload is half way", lambda: half.met)
    member.wait("the object of one folder is on its way", lambda: last.met)
    member.wait("the others exist", lambda: len(scene.bucket.names(small)) == 11)
    before = {one.key: one.values for one in scene.bucket.objects(small)}

    member.kill()
    member.wait_gone()

    assert [scene.group.pending(name) for name in (large, small)] == [{0: (800,)}, {0: (1_200,)}]
    assert not scene.bucket.names(large), "a half object must not be visible"
    scene.workload.write(large, 100)
    s3_proxy.clear()
    after = scene.member(manifest, successor)
    scene.group.wait_current(large, small, explain=after.tail)

    objects = scene.assert_stored(large, small)
    taken, *_ = (one for one in objects if one.topic == large)
    assert (taken.start, taken.end, scene.bucket.parts(taken)) == (0, 800, 2)
    stored = {one.key: one.values for one in objects if one.topic == small}
    assert len(stored) == 12
    assert before.items() <= stored.items()
    assert not scene.bucket.unfinished_uploads()
    taken_over = after.events("partition.takes_over")
    assert sorted((event["start"], event["ends"]) for event in taken_over) == [(0, [800]), (0, [1_200])]
