"""Offsets and objects that are not as a member left them: offsets forgotten or set, another group's objects."""

from collections.abc import Callable

import pytest

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.process import MemberProcess
from tests.integration.harness.scene import Scene

CreateTopic = Callable[..., str]
pytestmark = pytest.mark.timeout(900)


def reasons(member: MemberProcess) -> set[tuple[str, int, str]]:
    return {(event["topic"], event["partition"], event["reason"]) for event in member.events("partition.held")}


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
