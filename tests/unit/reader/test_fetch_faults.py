"""Faults that come together, or lie: replicas that only the leader reaches, lengths and offsets that are damaged."""

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from logpersister.pipeline.reader import ReadRequest
from logpersister.pipeline.reader.messages import ClusterError, FetchAnswer, FetchCall, PartitionData
from logpersister.ranges import Range
from tests.unit.reader import simulated_cluster as simulated
from tests.unit.reader.simulated_cluster import SimulatedCluster, Write, make_log
from tests.unit.reader.test_fetch_errors import SMALL as OF_ERRORS
from tests.unit.reader.test_fetch_errors import T0, T1, WHOLE, always, error_of, long_log, read, request

SMALL = replace(OF_ERRORS, decode_bytes=1 << 11)
LENGTH_AT, LAST_DELTA_AT = 8, 23

Answer = FetchAnswer | ClusterError


# Replicas (2) that the leader (0) names


def refusing(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> Answer:
    return replace(answer, parts={part.partition: simulated.failed(part, 9) for part in call.parts})


def lagging(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> Answer:
    empty = PartitionData(T0, 0, 0, 0, 0, memoryview(b""))
    return replace(answer, parts={part.partition: replace(empty, partition=part.partition) for part in call.parts})


@pytest.mark.parametrize(
    ("follower", "asked", "seconds"),
    [(simulated.unreachable, 1, 1), (refusing, 4, 3), (lagging, 8, 3)],
    ids=["unreachable", "refusing", "lagging"],
)
def test_a_replica_that_only_the_leader_finds_good_is_left_alone(
    follower: Callable[[SimulatedCluster, FetchCall, FetchAnswer], Answer], asked: int, seconds: float
) -> None:
    """Leaders go on naming it, as they reach it."""

    def near(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> Answer:
        if call.node == 2:
            return follower(cluster, call, answer)
        if not call.rack:
            return answer
        return replace(
            answer,
            parts={
                one: replace(data, records=memoryview(b""), preferred_replica=2) for one, data in answer.parts.items()
            },
        )

    cluster = SimulatedCluster({T0: long_log(), T1: long_log()}, faults=always(near))
    before = cluster.inbox.now()
    both = [request(), request(Range(T1, 0, 160))]
    found = read(cluster, *both, settings=replace(SMALL, client_rack="a"))
    assert found == {one.range: list(range(160)) for one in both}
    assert cluster.inbox.now() - before < seconds
    assert 1 <= sum(call.node == 2 for call in cluster.calls) <= asked


# Damage outside the checksum, or before it is checked


def changed(data: PartitionData, at: int, value: int) -> PartitionData:
    records = bytearray(data.records)
    struct.pack_into(">i", records, at, value)
    return replace(data, records=memoryview(records))


def test_a_damaged_length_does_not_break_the_memory_bound() -> None:
    def once(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        return replace(answer, parts={T0: changed(answer.parts[T0], LENGTH_AT, 500 << 20)})

    cluster = SimulatedCluster({T0: long_log()}, faults=iter([once]))
    assert read(cluster, request(), settings=SMALL) == {WHOLE: list(range(160))}
    assert max(call.max_bytes for call in cluster.calls) <= SMALL.request_bytes


def test_a_record_batch_that_cannot_be_received_is_corrupt() -> None:
    def huge(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        return replace(answer, parts={T0: changed(answer.parts[T0], LENGTH_AT, 2_000 << 20)})

    cluster = SimulatedCluster({T0: long_log()}, faults=always(huge))
    error = error_of(cluster, request(), settings=SMALL)
    assert (error.kind, error.retriable) == ("corrupt", False)
    assert "a record batch of 2097152012 bytes is more than 1073741824 (max_response_bytes)" in str(error)
    assert max(call.max_bytes for call in cluster.calls) <= SMALL.request_bytes


def test_a_damaged_last_offset_skips_nothing() -> None:
    """The next request goes out before what came is decoded, and so to a wrong offset."""

    def once(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        records = answer.parts[T0].records
        (length,) = struct.unpack_from(">i", records, LENGTH_AT)
        return replace(answer, parts={T0: changed(answer.parts[T0], 12 + length + LAST_DELTA_AT, 100)})

    cluster = SimulatedCluster({T0: long_log()}, faults=iter([once]))
    assert read(cluster, request(), settings=SMALL) == {WHOLE: list(range(160))}
    assert cluster.calls[1].parts[0].offset > 100


def test_a_range_that_made_room_is_asked_anew_also_when_it_had_failed() -> None:
    """Else its error would be raised in the place of records before it that were dropped."""
    large = make_log([Write([10]), Write([300_000])])

    def fault(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        (part,) = call.parts
        if part.partition == T0:  # a broker from before KIP-74: cuts off a first record batch
            return replace(answer, parts={T0: changed_to(answer.parts[T0], part.max_bytes)})
        if [one.node for one in cluster.calls].count(1) == 2:
            return replace(answer, parts={T1: simulated.failed(part, 29)})
        return answer

    def changed_to(data: PartitionData, size: int) -> PartitionData:
        return replace(data, records=data.records[:size])

    cluster = SimulatedCluster({T0: large, T1: replace(long_log(), leader=1)}, faults=always(fault))
    both = [ReadRequest(Range(T0, 0, 2), 20), request(Range(T1, 0, 160))]
    assert read(cluster, *both, settings=SMALL) == {Range(T0, 0, 2): [0, 1], Range(T1, 0, 160): list(range(160))}
    assert [call.parts[0].offset for call in cluster.calls if call.node == 1].count(0) == 2


# Room that a partition uses up and leaves empty


def test_only_the_first_partition_of_a_request_can_show_that_there_is_nothing() -> None:
    """It waits for tiered storage: the broker takes its room for used, and the batch of the other one for too large."""
    large = make_log([Write([3000]), Write([3000])])
    cluster = SimulatedCluster({T0: replace(large, local_start=2), T1: large}, slow_storage=iter([True] * 4))
    wanted = [ReadRequest(Range(partition, 0, 2), 1) for partition in (T0, T1)]
    found = read(cluster, *wanted, settings=replace(SMALL, backoff=0))  # without pauses they are always asked together
    assert found == {one.range: [0, 1] for one in wanted}


# Others
