"""Members whose brokers are restarted and killed: nothing is stuck, lost or stored twice."""

from collections.abc import Callable

import pytest

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.group import Group
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify
from tests.stack import KafkaCluster
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import add_partitions

CreateTopic = Callable[..., str]
pytestmark = pytest.mark.timeout(900)

SESSION_SECONDS = 30
PARTITIONS = range(4)
BEFORE = 50
"""Records that are there when a group begins."""


def wait_owns(member: MemberProcess, count: int) -> None:
    member.wait(f"it owns {count} partitions", lambda: member.status().get("assignment", {}).get("count") == count)


def wait_shared(*members: MemberProcess) -> None:
    for member in members:
        wait_owns(member, len(PARTITIONS) // len(members))


def wait_resolved(member: MemberProcess) -> None:
    """Wait until a member knows how to go on with its first partition: anew, or with what it had promised before."""
    member.wait("it has resolved", lambda: member.events("partition.resumed") or member.events("partition.takes_over"))


def test_brokers_are_restarted_one_after_the_other(
    scene: Scene, topic: CreateTopic, kafka: KafkaCluster, verify: Verify
) -> None:
    """Under load; the group's coordinator last, so that it is another broker than when the members came."""
    name = topic(len(PARTITIONS))
    manifest = scene.manifest(kafka={"topics": [name], "sessionTimeout": f"{SESSION_SECONDS}s"})
    one, two = scene.member(manifest), scene.member(manifest)
    wait_shared(one, two)
    with scene.workload.running(name, PARTITIONS, per_second=20):
        scene.group.wait_current(name, explain=one.tail)
        kafka.roll(last=kafka.coordinator(scene.group.name))
        scene.group.wait_current(name, seconds=SESSION_SECONDS, explain=one.tail)
        one.stop()
        wait_shared(two)
        scene.group.wait_current(name, seconds=SESSION_SECONDS, explain=two.tail)
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


@pytest.mark.soak
def test_partitions_are_added_while_leaders_restart(
    scene: Scene, topic: CreateTopic, kafka: KafkaCluster, unique: str, verify: Verify
) -> None:
    """A leader that comes back as a static member is not told that it leads, and only leaders look for partitions.

    Two groups of one member each, so each is its group's leader. What did not exist when ``latest`` began is stored
    from its first record on.
    """
    name = topic(1)
    manifests = {
        start: scene.manifest(
            kafka={"topics": [name], "groupId": f"{unique}-{start}", "startFrom": start, "sessionTimeout": "5m"},
            storage={"prefix": start},
        )
        for start in ("earliest", "latest")
    }
    scene.workload.write(name, BEFORE)
    members = {start: scene.member(manifest, start) for start, manifest in manifests.items()}
    for member in members.values():
        wait_resolved(member)

    def restart(*starts: str) -> None:
        for start in starts:
            members[start].kill()
            members[start].wait_gone()
            members[start] = scene.member(manifests[start], start)
        for start in starts:
            wait_resolved(members[start])

    def grow(total: int) -> None:
        add_partitions(kafka.bootstrap, name, total)
        scene.workload.write(name, 50, partitions=range(total))

    restart("earliest", "latest")
    grow(2)
    grow(3)
    restart("latest")
    grow(4)

    produced = scene.workload.produced(name)
    for start, member in members.items():
        wait_owns(member, len(produced))
        with Group(kafka.bootstrap, f"{unique}-{start}") as group:
            group.wait_current(name, explain=member.tail)
        assert_exactly_once(scene.bucket_at(start).objects(name), produced)
        assert verify(manifests[start], "--deep")["ok"]
        produced[name, 0] = produced[name, 0][BEFORE:]  # which is all that the next one begins behind
