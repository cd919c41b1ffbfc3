"""Members whose brokers are restarted and killed: nothing is stuck, lost or stored twice."""

from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify
from tests.stack import KafkaCluster
from tests.stack.fault_proxy import FaultProxy

PARTITIONS = range(4)


def wait_owns(member: MemberProcess, count: int) -> None:
    member.wait(f"it owns {count} partitions", lambda: member.status().get("assignment", {}).get("count") == count)


def wait_shared(*members: MemberProcess) -> None:
    for member in members:
        wait_owns(member, len(PARTITIONS) // len(members))


def test_brokers_are_restarted_one_after_the_other(
    scene: Scene, topic: CreateTopic, kafka: KafkaCluster, verify: Verify
) -> None:
    """Under load; the group's coordinator last, so that it is another broker than when the members came.

    Nothing waits for sessions to time out: that takes longer than the test does.
    """
    name = topic(len(PARTITIONS))
    manifest = scene.manifest(kafka={"topics": [name], "sessionTimeout": "10m"})
    one, two = scene.member(manifest), scene.member(manifest)
    wait_shared(one, two)
    with scene.workload.running(name, PARTITIONS, per_second=20):
        scene.group.wait_current(name, explain=one.tail)
        kafka.roll(last=kafka.coordinator(scene.group.name))
        scene.group.wait_current(name, explain=one.tail)
        one.stop()
        wait_shared(two)
        scene.group.wait_current(name, explain=two.tail)
    scene.group.wait_current(name, explain=two.tail)
    two.stop()

    scene.assert_stored(name)
    assert verify(manifest, "--deep")["ok"]


def test_the_coordinator_dies_in_the_middle_of_an_intent(
    scene: Scene, topic: CreateTopic, kafka: KafkaCluster, s3_proxy: FaultProxy, verify: Verify
) -> None:
    """And stays away, while what one member has promised is finished, and what another one leaves is taken over."""
    name = topic(len(PARTITIONS))
    manifest = scene.manifest(
        kafka={"topics": [name], "sessionTimeout": "10s"}, storage={"endpoint": s3_proxy.endpoint}
    )
    one, two = scene.member(manifest), scene.member(manifest)
    wait_shared(one, two)
    fault = stalled_puts(f"/{name}/")
    s3_proxy.inject(fault)
    scene.workload.write(name, 300, partitions=PARTITIONS, size=1_000)
    one.wait("all uploads are on their way", lambda: fault.met >= len(PARTITIONS))
    promised = scene.group.pending(name)

    coordinator = kafka.coordinator(scene.group.name)
    coordinator.kill()
    kafka.wait_moved(scene.group.name, coordinator)
    one.kill()
    s3_proxy.clear()
    wait_shared(two)
    scene.group.wait_current(name, explain=two.tail)

    objects = scene.assert_stored(name)
    assert promised.keys() == set(PARTITIONS)
    kept = {(number, 0, ends[0]) for number, ends in promised.items()}
    assert kept <= {(item.partition, item.start, item.end) for item in objects}, "what was promised is what is stored"
    kafka.recover()
    assert verify(manifest, "--deep")["ok"]
    two.stop()
