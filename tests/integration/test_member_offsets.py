"""Offsets and objects that are not as a member left them: topics made anew, offsets forgotten or set, other groups."""

from collections.abc import Callable

import pytest

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.faults import stalled_puts
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene
from tests.integration.harness.waiting import eventually
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import admin, create_topic, delete_records, delete_topic

CreateTopic = Callable[..., str]
pytestmark = pytest.mark.timeout(900)


def reasons(member: MemberProcess) -> set[tuple[str, int, str]]:
    return {(event["topic"], event["partition"], event["reason"]) for event in member.events("partition.held")}


def test_a_topic_that_is_deleted_and_made_again_is_held(scene: Scene, topic: CreateTopic) -> None:
    again, other = topic(), topic()
    bootstrap = scene.kafka.bootstrap
    kafka = {"topics": [again, other]}
    manifest = scene.manifest(kafka=kafka)
    member = scene.member(manifest)
    scene.workload.write(again, 100)
    scene.workload.write(other, 100)
    scene.group.wait_current(again, other, explain=member.tail)
    of_old_topic = scene.assert_stored(again, other)

    delete_topic(bootstrap, again)
    with admin(bootstrap) as client:
        eventually("the topic is gone", lambda: again not in client.list_topics())
    create_topic(bootstrap, again)
    scene.workload.write(again, 300)  # more than the old one had: offsets alone would not show it
    scene.workload.write(other, 100)
    member.wait("the new topic is held", lambda: member.held() == {f"{again}-0": "topic-recreated"})
    scene.group.wait_current(other, explain=member.tail)
    member.terminate()
    assert member.wait_end() == 0

    restarted = scene.run_until_current(manifest, code=4)
    assert reasons(restarted) == {(again, 0, "topic-recreated")}
    scene.assert_stored(other)
    assert [one.key for one in scene.bucket.objects(again)] == [one.key for one in of_old_topic if one.topic == again]

    scene.run_until_current(scene.manifest(generation=2, kafka=kafka))
    of_new_topic = [one for one in scene.bucket.objects(again) if one.generation == 2]
    assert_exactly_once(of_new_topic, scene.workload.produced(again))
    assert len(scene.bucket.objects(again)) == len(of_new_topic) + 1, "the old topic's object stays"


def test_offsets_forgotten_and_set(scene: Scene, topic: CreateTopic) -> None:
    """A partition each: untouched, forgotten by Kafka, set forward, set back."""
    name = topic(4)
    untouched, forgotten, forward, back = range(4)
    kafka = {"topics": [name]}
    scene.workload.write(name, 100, partitions=range(4))
    scene.run_until_current(scene.manifest(kafka=kafka))
    scene.group.wait_empty()
    scene.group.forget(name, [forgotten])
    scene.group.set(name, {forward: 150, back: 10})
    scene.workload.write(name, 100, partitions=range(4))

    second = scene.run_until_current(scene.manifest(kafka=kafka), code=4)

    assert reasons(second) == {(name, back, "replay-requested")}
    produced = {number: scene.workload.produced(name)[name, number] for number in range(4)}
    assert_exactly_once(
        scene.bucket.objects(name),
        {
            (name, untouched): produced[untouched],
            (name, forgotten): produced[forgotten],
            (name, forward): produced[forward][:100] + produced[forward][150:],
            (name, back): produced[back][:100],
        },
    )
    (skipped,) = scene.bucket.losses()
    assert {field: skipped[field] for field in ("partition", "start", "end", "cause")} == {
        "partition": forward,
        "start": 100,
        "end": 150,
        "cause": "skipped",
    }

    scene.run_until_current(scene.manifest(generation=2, kafka=kafka))

    replayed = [one for one in scene.bucket.objects(name) if one.generation == 2]
    assert_exactly_once(replayed, {(name, back): produced[back][10:]})


def test_retention_overtakes_what_was_promised(scene: Scene, topic: CreateTopic, s3_proxy: FaultProxy) -> None:
    """The member dies in the middle of two ranges; of one of them Kafka loses a part before anybody takes it over."""
    name = topic(2)
    scene.workload.write(name, 1_000, partitions=[0, 1])
    produced = scene.workload.produced(name)
    kafka, storage = {"topics": [name], "onDataLoss": "skip"}, {"endpoint": s3_proxy.endpoint}
    fault = stalled_puts(f"/{name}/")
    s3_proxy.inject(fault)
    member = scene.member(scene.manifest(kafka=kafka, storage=storage))
    member.wait("the uploads are on their way", lambda: fault.met >= 2)
    member.kill()
    member.wait_gone()
    assert scene.group.pending(name) == {0: (1_000,), 1: (1_000,)}
    delete_records(scene.kafka.bootstrap, name, {0: 400})
    s3_proxy.clear()

    scene.run_until_current(scene.manifest(kafka=kafka, storage=storage))

    objects = scene.bucket.objects(name)
    assert_exactly_once(objects, {(name, 0): produced[name, 0][400:], (name, 1): produced[name, 1]})
    assert [(one.start, one.end, one.metadata["first"]) for one in objects] == [(0, 1_000, "400"), (0, 1_000, "0")]
    (loss,) = scene.bucket.losses()
    assert (loss["partition"], loss["start"], loss["end"], loss["cause"]) == (0, 0, 400, "lost")


def test_two_groups_under_one_prefix(scene: Scene, topic: CreateTopic, unique: str) -> None:
    shared, free = topic(), topic()
    scene.workload.write(shared, 100)
    scene.run_until_current(scene.manifest(kafka={"topics": [shared]}))
    before = scene.assert_stored(shared)
    scene.workload.write(shared, 100)
    scene.workload.write(free, 100)

    second = scene.manifest(kafka={"topics": [shared, free], "groupId": f"{unique}-second"})
    member = scene.run_until_current(second, code=4)

    assert reasons(member) == {(shared, 0, "foreign-objects")}
    assert [(one.key, one.modified) for one in scene.bucket.objects(shared)] == [
        (one.key, one.modified) for one in before
    ]
    scene.assert_stored(free)
