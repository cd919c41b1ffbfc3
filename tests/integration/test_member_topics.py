"""Topics that are deleted and made again: their offsets begin anew, and are never mixed with what is stored.

Topics and partitions that come later are in test_member_fields (a pattern).
"""

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify
from tests.integration.harness.waiting import eventually
from tests.stack.clients import admin_client
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import create_topic, delete_topic


def delete(scene: Scene, name: str) -> None:
    """Delete a topic and wait until it is gone."""
    bootstrap = scene.kafka.bootstrap
    delete_topic(bootstrap, name)
    with admin_client(bootstrap) as client:
        eventually("the topic is gone", lambda: name not in client.list_topics())


def wait_held(member: MemberProcess, name: str) -> None:
    """Wait until the first partition is held, and look at what is said of it."""
    member.wait("the new topic is held", lambda: member.held().get(f"{name}-0") == "topic-recreated")
    messages = [one["message"] for one in member.status()["heldPartitions"]["first"] if one["topic"] == name]
    assert all(f"topic '{name}' was deleted and created again" in message for message in messages)
    assert all("raise spec.generation, or change spec.storage.prefix" in message for message in messages)


def test_while_one_is_stored_and_another_is_being_uploaded(
    scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy, verify: Verify
) -> None:
    """One comes back longer than it was: offsets alone would not show it. The other has fewer partitions then."""
    stored, uploading, other = topic(), topic(2), topic()
    kafka, storage = {"topics": [stored, uploading, other]}, {"endpoint": s3_proxy.endpoint}
    manifest = scene.manifest(kafka=kafka, storage=storage)
    member = scene.member(manifest)
    scene.workload.write(stored, 100)
    scene.workload.write(other, 100)
    scene.group.wait_current(stored, other, explain=member.tail)
    fault = stalled_puts(f"/{uploading}/")
    s3_proxy.inject(fault)
    scene.workload.write(uploading, 500, partitions=[0, 1], size=1_000)
    old = scene.workload.produced(stored, uploading)
    member.wait("the uploads are on their way", lambda: fault.met >= 2)
    assert scene.group.pending(uploading).keys() == {0, 1}

    for name in (stored, uploading):
        delete(scene, name)
    scene.workload.write(other, 100)
    scene.group.wait_current(other, explain=member.tail)
    for name, count in ((stored, 300), (uploading, 800)):
        create_topic(scene.kafka.bootstrap, name)
        scene.workload.write(name, count, size=1_000)
    s3_proxy.clear()
    for name in (stored, uploading):
        wait_held(member, name)
    scene.workload.write(other, 100)
    scene.group.wait_current(other, explain=member.tail)
    member.stop()

    scene.assert_stored(other)
    before = [one for name in (stored, uploading) for one in scene.bucket.objects(name)]
    assert_exactly_once(before, old)

    raised = scene.manifest(generation=2, kafka=kafka, storage=storage)
    scene.run_until_current(raised)
    now = [one for name in (stored, uploading) for one in scene.bucket.objects(name)]
    of_new_topics = [one for one in now if one.generation == 2]
    assert_exactly_once(of_new_topics, scene.workload.produced(stored, uploading))
    assert len(now) == len(before) + len(of_new_topics), "objects of the old topics stay"
    document = verify(raised, "--deep")
    assert document["ok"], document["findings"]
