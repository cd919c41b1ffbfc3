"""Several members of one group: joining, leaving, standing still."""

from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import CreateTopic, Scene
from tests.stack.fault_proxy import FaultProxy


def owned(member: MemberProcess) -> int:
    return int(member.status().get("assignment", {}).get("count", 0))


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


def test_a_restart_under_the_same_name_moves_nothing_and_a_name_that_is_taken_ends_the_older_member(
    scene: Scene, topic: CreateTopic
) -> None:
    """What it owned waits for it within ``sessionTimeout``. The older one ends at once, whatever its ``cycleInterval``.

    A member beyond the number of partitions is ready, else a rollout that adds one would wait for it for ever.
    """
    name = topic()
    kafka = {"topics": [name], "sessionTimeout": "10m"}
    manifest, seldom = scene.manifest(kafka=kafka), scene.manifest(kafka=kafka, cycleInterval="5m")
    both = [(of, scene.member(manifest, of)) for of in ("one", "two")]
    for _, member in both:
        member.wait("it has joined", lambda: scene.group.members() == ["one", "two"])
        member.wait("it is ready", member.ready)
        assert member.events("spark.warm")
    (_, two), (of_one, one) = sorted(both, key=lambda each: owned(each[1]))
    assert (owned(two), owned(one)) == (0, 1)
    scene.workload.write(name, 100)
    scene.group.wait_current(name, explain=one.tail)
    of_two = two.status()["assignment"]
    changes = len(two.events("group.assigned")) + len(two.events("group.revoked"))

    one.kill()
    one.wait_gone()
    scene.workload.write(name, 100)
    older = scene.member(seldom, of_one)
    scene.group.wait_current(name, explain=older.tail)
    written = len(older.events("range.written"))
    older.wait("it has looked", lambda: (older.lag() or {}).get("records") == 0)
    scene.workload.write(name, 100)
    newer = scene.member(manifest, of_one)
    assert older.wait_end() == 5
    scene.group.wait_current(name, explain=newer.tail)

    scene.assert_stored(name)
    assert len(older.events("range.written")) == written, "it was not yet time to look again"
    assert two.status()["assignment"] == of_two
    assert len(two.events("group.assigned")) + len(two.events("group.revoked")) == changes
