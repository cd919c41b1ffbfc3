"""Fields of the manifest that change what a member does, each seen from outside."""

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify
from tests.stack.topics import (
    add_partitions,
    create_topic,
    produce_many,
)


def test_pattern_latest_and_limits_by_topic(scene: Scene, unique: str, verify: Verify) -> None:
    """A long-running member: topics and partitions join, or are left out, and each has the limits of its topic."""
    names = ("fast", "slow", "large", "private", "late.fast")
    fast, slow, large, private, late = (f"{unique}.{name}" for name in names)
    bootstrap = scene.kafka.bootstrap
    for name in (fast, slow, large, private):
        create_topic(bootstrap, name)
        scene.workload.write(name, 50)
    manifest = scene.manifest(
        kafka={
            "topicPattern": f"^{unique}",
            "excludeTopicPattern": "private$",
            "startFrom": "latest",
        },
        upload={"maxAge": "1h"},
        overrides=[
            {"topicPattern": "fast$", "upload": {"maxAge": "1s"}},
            {"topicPattern": "large$", "upload": {"maxBytes": "64Ki"}},
        ],
    )
    member = scene.member(manifest)
    member.wait_event("partition.resumed", count=3)

    scene.workload.write(slow, 50)
    scene.workload.write(private, 50)
    scene.workload.write(large, 400, size=1_000)
    scene.workload.write(fast, 50)
    create_topic(bootstrap, late)
    add_partitions(bootstrap, fast, 2)
    member.wait_event("partition.resumed", topic=late)
    member.wait_event("partition.resumed", topic=fast, partition=1)
    scene.workload.write(late, 50)
    scene.workload.write(fast, 50, partitions=[1])
    scene.group.wait_current(fast, late, explain=member.tail)
    member.wait_event("range.written", topic=large, count=3)

    produced = scene.workload.produced(fast, late)
    after_start = {of: values for of, values in produced.items() if of != (fast, 0)}
    after_start[fast, 0] = produced[fast, 0][50:]
    assert_exactly_once([*scene.bucket.objects(fast), *scene.bucket.objects(late)], after_start)
    stored = [value for one in scene.bucket.objects(large) for value in one.values]
    assert stored == scene.workload.produced(large)[large, 0][50 : 50 + len(stored)], "full objects do not wait"
    assert not scene.bucket.objects(slow)
    assert not scene.bucket.objects(private)
    assert scene.group.committed(slow)[0].offset == 50, "where the group began is decided once"
    assert not scene.group.committed(private)

    member.stop()
    verify(manifest, "--deep", finds={})


def test_objects_are_as_large_as_asked(scene: Scene, topic: CreateTopic) -> None:
    name = topic(2)
    produce_many(scene.kafka, name, records=30_000, record_bytes=1_000)
    size = 1 << 20

    scene.run_until_current(scene.manifest(kafka={"topics": [name]}, upload={"maxBytes": size}))

    objects = scene.assert_stored(name)
    rests = {of: max(one.start for one in objects if one.of == of) for of in {one.of for one in objects}}
    full = [one.size / size for one in objects if one.start < rests[one.of]]
    near = [ratio for ratio in full if 0.8 <= ratio <= 1.2]
    assert len(full) >= 12
    assert len(near) >= 0.9 * len(full), full
