"""Kafka deletes records before they are stored: said always, never jumped over unless the manifest says so.

Parts of ranges that were promised are lost in `tests/model`; what is written then is in `tests/unit/pipeline`.
"""

import time
from typing import Any

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify
from tests.stack.topics import delete_records


def test_retention_overtakes_the_group(scene: Scene, topic: CreateTopic, verify: Verify) -> None:
    """In one partition: the others, of the same topic too, go on."""
    cut, whole = topic(2), topic()
    old = int(time.time() * 1000) - 2 * 3_600_000
    upload = {"maxAge": "1h", "maxBytes": "64Ki"}
    manifest = scene.manifest(kafka={"topics": [cut, whole]}, upload=upload)
    scene.workload.write(cut, 100, partitions=[0, 1], size=1_000, timestamp=lambda _: old)  # due at once
    member = scene.member(manifest)
    scene.group.wait_current(cut, explain=member.tail)

    scene.workload.write(cut, 50, partitions=[0, 1], size=1_000)  # these may wait
    member.wait("it has seen them", lambda: (member.lag() or {}).get("records") == 100)
    before = scene.workload.produced(cut)
    delete_records(scene.kafka.bootstrap, cut, {0: 130})
    scene.workload.write(cut, 500, partitions=[0, 1], size=1_000)
    scene.workload.write(whole, 500, size=1_000)  # as all that is as large as an object should be
    member.wait("the partition is held", lambda: member.held() == {f"{cut}-0": "data-lost"})
    member.wait_event("range.written", topic=whole)
    member.wait_event("range.written", topic=cut, partition=1, start=100)

    (held,) = member.status()["heldPartitions"]["first"]
    assert "deleted offsets [100, 130)" in held["message"]
    assert "set spec.kafka.onDataLoss to skip" in held["message"]
    assert member.metrics()['logpersister_held_partitions{reason="data-lost"}'] == 1
    member.stop()

    again = scene.run_until_current(manifest, code=4)
    assert {(one["topic"], one["partition"], one["reason"]) for one in again.events("partition.held")} == {
        (cut, 0, "data-lost")
    }
    scene.assert_stored(whole)
    after = scene.workload.produced(cut)
    stored: dict[tuple[str, int], Any] = {(cut, 0): before[cut, 0][:100], (cut, 1): after[cut, 1]}
    assert_exactly_once(scene.bucket.objects(cut), stored)
    assert not scene.bucket.losses()
    verify(manifest, "--deep", finds={("not-compared", 0): 1})  # nothing is promised that is not kept

    skipping = scene.manifest(kafka={"topics": [cut, whole], "onDataLoss": "skip"}, upload=upload)
    scene.run_until_current(skipping)

    stored[cut, 0] = before[cut, 0][:100] + after[cut, 0]
    assert_exactly_once(scene.bucket.objects(cut), stored)
    (loss,) = scene.bucket.losses()
    assert (loss["topic"], loss["partition"], loss["start"], loss["end"], loss["cause"]) == (cut, 0, 100, 130, "lost")
    verify(skipping, "--deep", finds={("lost", 0): 1, ("not-compared", 0): 1})
