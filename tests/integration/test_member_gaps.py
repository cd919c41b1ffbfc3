"""Transactions: records of several, committed and aborted, between others; one that is open holds back what follows it.

``read_uncommitted`` waits for none. Compaction is in test_member_verbatim.
"""

from tests.integration.harness.bucket import assert_exactly_once
from tests.integration.harness.scene import CreateTopic, Scene
from tests.integration.harness.verification import Verify, kinds
from tests.stack.topics import Record, Transaction, end_offsets, read_all, transaction

PATIENT = {"transaction_timeout_ms": 900_000}
"""The broker must not abort what a slow machine leaves open."""


def test_transactions(scene: Scene, topic: CreateTopic, unique: str, verify: Verify) -> None:
    held_back, other = topic(2), topic()
    bootstrap = scene.kafka.bootstrap
    kafka = {"topics": [held_back, other]}
    patient = scene.manifest(kafka=kafka)
    hasty = scene.manifest(
        kafka={**kafka, "isolationLevel": "read_uncommitted", "groupId": f"{unique}-hasty"}, storage={"prefix": "hasty"}
    )
    every = scene.bucket_at("hasty")

    def write(current: Transaction, partition: int) -> None:
        values = [scene.workload.value(held_back, partition) for _ in range(50)]
        current.produce(held_back, [Record(value, partition=partition) for value in values])

    def stored_by_hasty() -> int:
        return sum(len(one.values) for one in every.objects())

    members = [scene.member(patient), scene.member(hasty)]
    scene.workload.write(held_back, 50, partitions=[0, 1])
    with transaction(bootstrap, f"{unique}-open", **PATIENT) as open_one:
        write(open_one, 0)
        for turn in range(4):
            with transaction(bootstrap, f"{unique}-{turn % 2}", **PATIENT) as current:
                for partition in (0, 1):
                    write(current, partition)
                scene.workload.write(held_back, 50, partitions=[0, 1])
                if turn % 2:
                    current.abort()
        scene.workload.write(other, 50)
        write(open_one, 0)
        # Up to the last stable offsets: of partition 0 that is where the open transaction begins.
        scene.group.wait_current(held_back, other, explain=members[0].tail)
        records = 50 + 50 + (4 * 50 + 4 * 50 + 50) * 2 + 50
        members[1].wait("it has stored what is open and aborted, too", lambda: stored_by_hasty() == records)

        assert {number: entry.offset for number, entry in scene.group.committed(held_back).items()} == {
            0: 50,
            1: end_offsets(bootstrap, held_back)[1],
        }
        scene.assert_stored(held_back, other)
        write(open_one, 0)
    scene.group.wait_current(held_back, explain=members[0].tail)
    members[1].wait("it has stored the rest", lambda: stored_by_hasty() == records + 50)
    for member in members:
        member.stop()

    objects = scene.assert_stored(held_back, other)
    assert sum(len(one.values) for one in objects) == records + 50 - 2 * 2 * 50, "without what was aborted"
    in_kafka = {
        (name, number): [record.value for record in found if record.value is not None]
        for name in (held_back, other)
        for number, found in read_all(bootstrap, name, committed=False).items()
    }
    assert_exactly_once(every.objects(), in_kafka)
    for manifest in (patient, hasty):
        document = verify(manifest, "--deep")
        assert document["ok"]
        assert {kind for kind, _ in kinds(document)} <= {"no-record"}, "ranges of nothing but markers"
