"""Several members of one group: joining, leaving, standing still."""

import time
from collections.abc import Callable

import pytest

from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene
from tests.stack.fault_proxy import FaultProxy

CreateTopic = Callable[..., str]
pytestmark = pytest.mark.timeout(900)

MAX_AGE_SECONDS = 5
PARTITIONS = range(6)


def owned(member: MemberProcess) -> int:
    return int(member.status().get("assignment", {}).get("count", 0))


def revoked(member: MemberProcess) -> int:
    return sum(event["partitions"] for event in member.events("group.revoked"))


def wait_shared(*members: MemberProcess) -> None:
    """Wait until the partitions are shared out evenly."""
    share = len(PARTITIONS) // len(members)
    for member in members:
        member.wait(f"owns {share} partitions", lambda member=member: owned(member) == share)  # type: ignore[misc]


@pytest.mark.soak  # chaos does it in each run
def test_members_come_and_go_under_load(scene: Scene, topic: CreateTopic) -> None:
    name = topic(len(PARTITIONS))
    manifest = scene.manifest(kafka={"topics": [name]}, upload={"maxAge": f"{MAX_AGE_SECONDS}s"})
    first = scene.member(manifest, "one")
    wait_shared(first)

    started = time.monotonic()
    with scene.workload.running(name, PARTITIONS, per_second=50):
        second = scene.member(manifest, "two")
        wait_shared(first, second)
        third = scene.member(manifest, "three")
        wait_shared(first, second, third)
        assert revoked(first) + revoked(second) == 3 + 2, "a member gives up only what another one gets"

        first.stop()
        wait_shared(second, third)
        assert revoked(second) + revoked(third) <= 1, "nothing moves but what the one that left had"
        second.stop()
        wait_shared(third)
    seconds = time.monotonic() - started
    scene.group.wait_current(name, explain=third.tail)
    third.stop()

    objects = scene.assert_stored(name)
    assert len(objects) <= len(PARTITIONS) * (seconds / MAX_AGE_SECONDS + 2), "rebalances cut objects short"
    assert not any(member.events("range.failed") for member in (first, second, third))


def test_a_member_that_stood_still_does_no_harm(scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy) -> None:
    """It wakes up as a zombie: half way through an upload of a range that another member has stored meanwhile."""
    name = topic(2)
    manifest = scene.manifest(kafka={"topics": [name]}, storage={"endpoint": s3_proxy.endpoint})
    scene.workload.write(name, 1_000, partitions=[0, 1], size=1_000)
    fault = stalled_puts(f"/{name}/")
    s3_proxy.inject(fault)
    zombie = scene.member(manifest, "one")
    zombie.wait("its uploads are on their way", lambda: fault.met >= 2)
    promised = scene.group.pending(name)
    zombie.freeze()

    other = scene.member(manifest, "two")
    other.wait("it owns all partitions", lambda: owned(other) == 2)
    s3_proxy.clear()
    scene.group.wait_current(name, explain=other.tail)
    scene.workload.write(name, 1_000, partitions=[0, 1], size=1_000)
    scene.group.wait_current(name, explain=other.tail)
    zombie.thaw()
    zombie.wait("it joins again", lambda: owned(zombie) == 1)
    scene.workload.write(name, 1_000, partitions=[0, 1], size=1_000)
    scene.group.wait_current(name, explain=zombie.tail)
    zombie.wait_event("range.written")

    assert promised == {0: (1_000,), 1: (1_000,)}
    objects = scene.assert_stored(name)
    first = {(one.partition, one.start, one.end) for one in objects if one.start < 1_000}
    assert first == {(0, 0, 1_000), (1, 0, 1_000)}
    for member in (zombie, other):
        member.stop()


def test_a_restart_under_the_same_name_moves_nothing(scene: Scene, topic: CreateTopic) -> None:
    """Within ``sessionTimeout``; what it owned waits for it."""
    name = topic(2)
    manifest = scene.manifest(kafka={"topics": [name], "sessionTimeout": "10m"})
    one, two = scene.member(manifest, "one"), scene.member(manifest, "two")
    for member in (one, two):
        member.wait("it owns a partition", lambda member=member: owned(member) == 1)  # type: ignore[misc]
    scene.workload.write(name, 100, partitions=[0, 1])
    scene.group.wait_current(name, explain=one.tail)
    of_two = two.status()["assignment"]
    changes = len(two.events("group.assigned")) + len(two.events("group.revoked"))

    one.kill()
    one.wait_gone()
    scene.workload.write(name, 100, partitions=[0, 1])
    again = scene.member(manifest, "one")
    scene.group.wait_current(name, explain=again.tail)
    again.stop()
    scene.workload.write(name, 100, partitions=[0, 1])
    again = scene.member(manifest, "one")
    scene.group.wait_current(name, explain=again.tail)

    scene.assert_stored(name)
    assert two.status()["assignment"] == of_two
    assert len(two.events("group.assigned")) + len(two.events("group.revoked")) == changes
    again.wait("it owns a partition", lambda: owned(again) == 1)


def test_a_name_that_is_taken_ends_the_older_member(scene: Scene, topic: CreateTopic) -> None:
    """At once, although it looks at Kafka only every ``cycleInterval``.

    A member beyond the number of partitions is ready, else a rollout that adds one would wait for it for ever; and it
    takes over at once from one that leaves.
    """
    name = topic(1)
    manifest = scene.manifest(kafka={"topics": [name]}, cycleInterval="5m")
    older = scene.member(manifest, "one")
    older.wait_event("partition.resumed")
    older.wait("it has looked", lambda: (older.lag() or {}).get("partitions") == 1)
    scene.workload.write(name, 100)

    newer = scene.member(manifest, "one")

    assert older.wait_end() == 5
    scene.group.wait_current(name, explain=newer.tail)
    scene.assert_stored(name)
    assert not older.events("range.written"), "it was not yet time to look again"

    spare = scene.member(manifest, "two")
    spare.wait("it is ready", spare.ready)
    assert spare.events("spark.warm")
    newer.wait("one of them has the partition", lambda: owned(newer) + owned(spare) == 1)
    with_partition, without = sorted((newer, spare), key=owned, reverse=True)
    with_partition.stop()
    without.wait("it has the partition", lambda: owned(without) == 1)
