"""What each way to fail becomes: a retry, or an error of its kind for one range."""

import itertools
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from logpersister.pipeline.reader import KafkaReader, RangeReadError, ReaderSettings, ReadRequest
from logpersister.pipeline.reader.messages import ClusterError, FetchAnswer, FetchCall
from logpersister.ranges import Range, TopicPartition
from tests.unit.reader import simulated_cluster as simulated
from tests.unit.reader.simulated_cluster import Fault, Log, SimulatedCluster, Write, make_log

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
QUICK = ReaderSettings(stall_timeout=30, unknown_topic_timeout=5)
SMALL = replace(QUICK, buffer_bytes=1 << 16, request_bytes=1 << 14, partition_bytes=1 << 10)
"""Several requests for the whole of a long log."""
WHOLE = Range(T0, 0, 160)


def one_log(**options: Any) -> Log:
    return make_log([Write([10] * 5) for _ in range(4)], **options)


def long_log() -> Log:
    return make_log([Write([900] * 4) for _ in range(40)])


def request(requested: Range = WHOLE) -> ReadRequest:
    return ReadRequest(requested, requested.offsets * 900)


def read(cluster: SimulatedCluster, *requests: ReadRequest, settings: ReaderSettings = QUICK) -> dict[Range, Any]:
    """Read everything; a range's result is its offsets, or its error."""
    found: dict[Range, Any] = {}
    for one in reader(cluster, settings).read(requests or [ReadRequest(Range(T0, 0, 20), 100)]):
        try:
            found[one.range] = [offset for batch in one.batches() for offset in batch["offset"].to_pylist()]
        except RangeReadError as error:
            found[one.range] = error
    return found


def reader(cluster: SimulatedCluster, settings: ReaderSettings = QUICK) -> KafkaReader:
    return KafkaReader({}, settings, connect=lambda *_: cluster, inbox=lambda: cluster.inbox)


def error_of(cluster: SimulatedCluster, *requests: ReadRequest, settings: ReaderSettings = QUICK) -> RangeReadError:
    (result,) = read(cluster, *requests, settings=settings).values()
    assert isinstance(result, RangeReadError), result
    return result


def always(fault: Fault) -> Iterator[Fault]:
    return itertools.repeat(fault)


@pytest.mark.parametrize(
    "fault", [simulated.unreachable, simulated.error(6), simulated.error(-1), simulated.empty, simulated.without_first]
)
def test_what_never_gets_better_stalls_without_a_busy_loop(fault: Fault) -> None:
    cluster = SimulatedCluster({T0: one_log()}, faults=always(fault))
    before = cluster.inbox.now()
    error = error_of(cluster)
    assert (error.kind, error.retriable, error.offset) == ("kafka", True, 0)
    assert "no progress for 30 s; leader: broker 0" in str(error)
    assert 30 <= cluster.inbox.now() - before < 40
    assert len(cluster.calls) < 60
    assert cluster.locates < 60


def test_a_partition_that_stays_without_a_leader_fails_before_it_stalls() -> None:
    """Ranges of the same job wait for it."""
    quick = replace(QUICK, leaderless_timeout=10)
    error = error_of(SimulatedCluster({T0: one_log(leader=-1)}), settings=quick)
    assert (error.retriable, "no leader for 1" in str(error)) == (True, True)


def test_deleted_records_are_data_lost() -> None:
    log = one_log()
    log.start = 10
    error = error_of(SimulatedCluster({T0: log}))
    assert (error.kind, error.offset, error.log_start, error.log_end, error.retriable) == (
        "data-lost",
        0,
        10,
        20,
        False,
    )
    assert str(error) == "t-0 at offset 0: the log begins at 10: records were deleted before they were read"
    assert pickle.loads(pickle.dumps(error)).__dict__ == error.__dict__


def test_records_before_the_lost_ones_are_delivered() -> None:
    log = long_log()

    def delete(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        cluster.logs[T0].start = 150
        return answer

    cluster = SimulatedCluster({T0: log}, faults=iter([delete]))
    only = next(ranges := reader(cluster, SMALL).read([request()]))
    offsets = []
    with pytest.raises(RangeReadError, match="begins at 150") as caught:
        for batch in only.batches():
            offsets += batch["offset"].to_pylist()
    assert next(ranges, None) is None
    assert offsets == list(range(caught.value.offset))
    assert offsets


def test_a_log_that_ends_too_early_was_truncated() -> None:
    log = one_log()
    log.batches, log.end = log.batches[:1], 5
    error = error_of(SimulatedCluster({T0: log}), ReadRequest(Range(T0, 10, 20), 1))
    assert (error.kind, error.log_end) == ("truncated", 5)


def test_a_log_that_diverged_was_truncated() -> None:
    def diverged(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        return replace(answer, parts={T0: replace(answer.parts[T0], diverging_end=3, records=memoryview(b""))})

    error = error_of(SimulatedCluster({T0: one_log()}, faults=always(diverged)))
    assert (error.kind, error.log_end) == ("truncated", 3)


def test_the_epoch_of_what_was_read_is_sent_so_that_truncation_is_noticed() -> None:
    cluster = SimulatedCluster({T0: long_log()})
    read(cluster, request(), settings=SMALL)
    assert [call.parts[0].last_epoch for call in cluster.calls][:3] == [-1, 7, 7]  # 7: what `record_batches` writes
    assert {call.parts[0].leader_epoch for call in cluster.calls} == {3}


def test_an_unknown_topic_is_given_time_to_appear() -> None:
    cluster = SimulatedCluster({})
    before = cluster.inbox.now()
    error = error_of(cluster)
    assert (error.kind, error.retriable) == ("unknown-topic", False)
    assert 5 <= cluster.inbox.now() - before < 12


def test_a_topic_that_was_made_anew_is_refused() -> None:
    request = ReadRequest(Range(T0, 0, 20), 1, topic_id="AAAAAAAAAAAAAAAAAAAAAQ")
    error = error_of(SimulatedCluster({T0: one_log()}), request)
    assert error.kind == "topic-recreated"
    assert "AAAAAAAAAAAAAAAAAAAAAQ is gone, another one (id AAAAAAAAAAAAAAAAAAAABw) has its name" in str(error)


def test_a_topic_that_is_made_anew_meanwhile_is_refused() -> None:
    log = long_log()

    def recreate(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        cluster.topic_id = UUID(int=8)
        return answer

    cluster = SimulatedCluster({T0: log}, faults=iter([recreate]))
    assert error_of(cluster, request(), settings=SMALL).kind == "topic-recreated"


@pytest.mark.parametrize("code", [29, 31])
def test_what_is_not_allowed_is_not_tried_again(code: int) -> None:
    cluster = SimulatedCluster({T0: one_log()}, faults=always(simulated.error(code)))
    error = error_of(cluster)
    assert (error.kind, error.retriable) == ("unauthorized", False)
    assert len(cluster.calls) == 1


def test_a_refused_login_is_not_tried_again_and_the_next_call_logs_in_anew() -> None:
    cluster = SimulatedCluster({T0: one_log()})
    cluster.locate_errors.append(ClusterError("SaslAuthenticationFailedError", "no", unauthorized=True))
    one = reader(cluster)
    for only in one.read([ReadRequest(Range(T0, 0, 20), 1)]):
        with pytest.raises(RangeReadError, match="refused the login"):
            list(only.batches())
    assert cluster.closed == 1
    for again in one.read([ReadRequest(Range(T0, 0, 20), 1)]):
        assert sum(batch.num_rows for batch in again.batches()) == 20


def test_a_cluster_that_cannot_be_connected_to_fails_each_range() -> None:
    def refuse(*_: object) -> SimulatedCluster:
        raise ClusterError("disconnected", "nobody there")

    one = KafkaReader({}, QUICK, connect=refuse)
    for failed in one.read([ReadRequest(Range(T0, 0, 20), 1), ReadRequest(Range(T1, 0, 20), 1)]):
        with pytest.raises(RangeReadError, match="nobody there") as caught:
            list(failed.batches())
        assert (caught.value.kind, caught.value.retriable) == ("kafka", True)


def test_corruption_that_stays_names_topic_partition_and_offset() -> None:
    cluster = SimulatedCluster({T0: one_log(), T1: one_log()}, faults=always(_corrupt(T0)))
    results = read(cluster, ReadRequest(Range(T0, 0, 20), 1), ReadRequest(Range(T1, 0, 20), 1))
    error = results[Range(T0, 0, 20)]
    assert (error.kind, error.partition, error.offset) == ("corrupt", T0, 0)
    assert "checksum" in str(error).lower() or "crc" in str(error).lower()
    assert "fetched 4 times" in str(error)
    assert results[Range(T1, 0, 20)] == list(range(20))


def _corrupt(bad: TopicPartition) -> Fault:
    def fault(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        damaged = simulated.corrupted(cluster, call, answer)
        assert isinstance(damaged, FetchAnswer)
        return replace(answer, parts={one: (damaged if one == bad else answer).parts[one] for one in answer.parts})

    return fault


def test_a_broker_that_finds_its_log_corrupt() -> None:
    error = error_of(SimulatedCluster({T0: one_log()}, faults=always(simulated.error(2))))
    assert (error.kind, error.retriable) == ("corrupt", False)


def test_records_larger_than_the_request_are_read_by_growing_it() -> None:
    """Also from brokers that cut off a first record batch (before KIP-74)."""

    def cut(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
        part, data = call.parts[0], answer.parts[T0]
        return replace(answer, parts={T0: replace(data, records=data.records[: part.max_bytes])})

    for fault in (None, cut):
        cluster = SimulatedCluster({T0: make_log([Write([300_000]), Write([5]), Write([200_000])])})
        cluster.faults = itertools.repeat(fault)
        before = cluster.inbox.now()
        assert read(cluster, ReadRequest(Range(T0, 0, 3), 1), settings=SMALL) == {Range(T0, 0, 3): [0, 1, 2]}
        assert cluster.inbox.now() - before < 0.2  # without pauses


@pytest.mark.parametrize(
    ("start", "end", "records", "unexplained"), [(15, 20, 5, 0), (15, 23, 5, 3), (15, 25, 5, 5), (20, 25, 0, 5)]
)
def test_nothing_up_to_the_end_of_the_log(start: int, end: int, records: int, unexplained: int) -> None:
    log = one_log()
    log.end = 25  # 20 to 24 were compacted away
    for one in reader(SimulatedCluster({T0: log})).read([ReadRequest(Range(T0, start, end), 1)]):
        found = [offset for batch in one.batches() for offset in batch["offset"].to_pylist()]
        assert (found, one.unexplained) == (list(range(start, start + records)), unexplained)


def test_nothing_is_believed_of_records_that_may_be_in_tiered_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    log = one_log()
    cluster = SimulatedCluster({T0: log}, faults=always(_nothing))
    answers = cluster.log_offsets

    def tiered(partition: TopicPartition, location: Any) -> Any:
        future = answers(partition, location)
        result: Callable[[], Any] = future.result
        monkeypatch.setattr(future, "result", lambda: replace(result(), local_start=15))
        return future

    monkeypatch.setattr(cluster, "log_offsets", tiered)
    assert error_of(cluster).kind == "kafka"


def test_a_sample_is_one_fetch_and_none_at_the_end() -> None:
    cluster = SimulatedCluster({T0: one_log()})
    one = reader(cluster)
    assert one.sample(T0, 3, 100)["offset"].to_pylist() == list(range(3, 20))
    assert len(cluster.calls) == 1
    nothing = one.sample(T0, 20, 100)
    assert (nothing.num_rows, nothing.schema.names) == (0, ["offset", "timestamp", "key", "value"])
    with pytest.raises(RangeReadError, match="t-1"):
        one.sample(T1, 0, 100)


def _nothing(cluster: SimulatedCluster, call: FetchCall, answer: FetchAnswer) -> FetchAnswer:
    return replace(answer, parts={one: replace(data, records=memoryview(b"")) for one, data in answer.parts.items()})
