"""Topics that are deleted and made again: their offsets begin anew, and are never mixed with what is stored.

Topics and partitions that come later are in test_member_fields (a pattern).
"""

from collections.abc import Callable

import pytest

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify
from tests.integration.harness.waiting import eventually
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import admin, create_topic, delete_topic

CreateTopic = Callable[..., str]
pytestmark = pytest.mark.timeout(900)


def delete(scene: Scene, name: str) -> None:
    """Delete a topic and wait until it is gone."""
    bootstrap = scene.kafka.bootstrap
    delete_topic(bootstrap, name)
    with admin(bootstrap) as client:
        eventually("the topic is gone", lambda: name not in client.list_topics())


def wait_held(member: MemberProcess, name: str) -> None:
    """Wait until the first partition is held, and look at what is said of it."""
    member.wait("the new topic is held", lambda: member.held().get(f"{name}-0") == "topic-recreated")
    messages = [one["message"] for one in member.status()["heldPartitions"]["first"] if one["partition"] == 0]
    assert all(f"topic '{name}' was deleted and created again" in message for message in messages)
    assert all("raise spec.generation, or change spec.storage.prefix" in message for message in messages)


def test_while_everything_is_stored(scene: Scene, topic: CreateTopic, verify: Verify) -> None:
    """The new one is longer than the old one was: offsets alone would not show it."""
    again, other = topic(), topic()
    kafka = {"topics": [again, other]}
    manifest = scene.manifest(kafka=kafka)
    member = scene.member(manifest)
    scene.workload.write(again, 100)
    scene.workload.write(other, 100)
    scene.group.wait_current(again, other, explain=member.tail)
    of_old_topic = scene.assert_stored(again, other)

    delete(scene, again)
    create_topic(scene.kafka.bootstrap, again)
    scene.workload.write(again, 300)
    scene.workload.write(other, 100)
    wait_held(member, again)
    scene.group.wait_current(other, explain=member.tail)
    member.stop()

    restarted = scene.run_until_current(manifest, code=4)
    assert {(one["topic"], one["partition"], one["reason"]) for one in restarted.events("partition.held")} == {
        (again, 0, "topic-recreated")
    }
    scene.assert_stored(other)
    assert [one.key for one in scene.bucket.objects(again)] == [one.key for one in of_old_topic if one.topic == again]
    verify(manifest, "--deep", finds={("not-compared", 0): 1})  # Kafka's are other records

    raised = scene.manifest(generation=2, kafka=kafka)
    scene.run_until_current(raised)
    of_new_topic = [one for one in scene.bucket.objects(again) if one.generation == 2]
    assert_exactly_once(of_new_topic, scene.workload.produced(again))
    assert len(scene.bucket.objects(again)) == len(of_new_topic) + 1, "the old topic's object stays"
    verify(raised, "--deep", finds={("other-topic", 0): 1})


@pytest.mark.soak
def test_while_a_process_stands_still(scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy) -> None:
    """In the middle of an upload. Kafka has deleted what the group had promised, and so nobody else knows of it."""
    again, other = topic(), topic()
    manifest = scene.manifest(kafka={"topics": [again, other]}, storage={"endpoint": s3_proxy.endpoint})
    scene.workload.write(again, 500, size=1_000)
    old = scene.workload.produced(again)
    fault = stalled_puts(f"/{again}/")
    fault.times = 1  # that of others go through
    s3_proxy.inject(fault)
    zombie = scene.member(manifest, "one")
    zombie.wait("the upload is on its way", lambda: fault.met)
    zombie.freeze()
    delete(scene, again)
    create_topic(scene.kafka.bootstrap, again)
    scene.workload.write(again, 800, size=1_000)
    scene.workload.write(other, 100)
    member = scene.member(manifest, "two")
    scene.group.wait_current(other, explain=member.tail)
    wait_held(member, again)

    s3_proxy.clear()
    zombie.thaw()

    zombie.wait("its upload is done", lambda: scene.bucket.names(again))
    scene.assert_stored(other)
    assert_exactly_once(scene.bucket.objects(again), old)
    assert not scene.group.pending(again)


def test_while_it_is_being_uploaded(scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, verify: Verify) -> None:
    """It stays away for a while, and comes back with fewer partitions and other records at the promised offsets."""
    again, other = topic(2), topic()
    kafka, storage = {"topics": [again, other]}, {"endpoint": s3_proxy.endpoint}
    manifest = scene.manifest(kafka=kafka, storage=storage)
    scene.workload.write(again, 500, partitions=[0, 1], size=1_000)
    old = scene.workload.produced(again)
    fault = stalled_puts(f"/{again}/")
    s3_proxy.inject(fault)
    member = scene.member(manifest)
    member.wait("the uploads are on their way", lambda: fault.met >= 2)
    assert scene.group.pending(again) == {0: (500,), 1: (500,)}

    delete(scene, again)
    scene.workload.write(other, 100)
    scene.group.wait_current(other, explain=member.tail)
    create_topic(scene.kafka.bootstrap, again)
    scene.workload.write(again, 800, size=1_000)
    s3_proxy.clear()
    wait_held(member, again)
    scene.workload.write(other, 100)
    scene.group.wait_current(other, explain=member.tail)
    member.stop()
    of_old_topic = scene.bucket.objects(again)
    for one in of_old_topic:
        assert (one.start, one.end, one.values) == (0, 500, tuple(old[one.of])), "whole, and of one topic alone"
    scene.assert_stored(other)

    raised = scene.manifest(generation=2, kafka=kafka, storage=storage)
    scene.run_until_current(raised)

    of_new_topic = [one for one in scene.bucket.objects(again) if one.generation == 2]
    assert_exactly_once(of_new_topic, scene.workload.produced(again))
    assert scene.bucket.objects(again) == sorted(
        [*of_old_topic, *of_new_topic], key=lambda one: (one.partition, one.generation, one.start)
    )
    document = verify(raised, "--deep")
    assert document["ok"], document["findings"]
