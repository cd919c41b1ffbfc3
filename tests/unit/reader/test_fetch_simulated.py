"""Whatever brokers do: every offset once, in order, in bounded memory. Production code on a simulated cluster."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.pipeline.reader import KafkaReader, ReaderSettings, ReadRequest
from logpersister.pipeline.reader.settings import KIB
from logpersister.ranges import Range, TopicPartition
from tests.examples import examples
from tests.unit.reader import simulated_cluster as simulated
from tests.unit.reader.record_batches import GZIP, NONE
from tests.unit.reader.simulated_cluster import Fault, Log, SimulatedCluster, Write, make_log

SMALL = ReaderSettings(
    buffer_bytes=16 * KIB, request_bytes=4 * KIB, partition_bytes=512, decode_bytes=1 * KIB, decoded_bytes=4 * KIB
)

writes = st.builds(
    Write,
    sizes=st.lists(st.integers(0, 700), max_size=6),
    producer=st.sampled_from([None, 1, 2]),
    end=st.sampled_from([None, None, "commit", "abort"]),
    compacted=st.sampled_from([0, 0, 0, 3]),
    codec=st.sampled_from([NONE, GZIP]),
)
logs = st.builds(
    make_log,
    st.lists(writes, min_size=1, max_size=25),
    start=st.integers(0, 5),
    leader=st.integers(0, 2),
    local_start=st.sampled_from([0, 0, 0, 10, 1000]),
).filter(lambda log: log.end > log.start)
passing_faults: st.SearchStrategy[Fault | None] = st.one_of(
    st.none(),
    st.sampled_from(
        [
            simulated.unreachable,
            simulated.throttled,
            simulated.slowed,
            simulated.without_first,
            simulated.empty,
            simulated.moved,
        ]
    ),
    st.sampled_from([-1, 3, 6, 7, 9, 56, 74, 75, 78, 100, 12345]).map(simulated.error),
)


class Scenario:
    """Not a dataclass: hypothesis would print all of it."""

    def __init__(self, cluster: SimulatedCluster, requests: list[ReadRequest]) -> None:
        self.cluster, self.requests = cluster, requests

    def __repr__(self) -> str:
        return f"Scenario({self.cluster.logs}, {self.requests})"

    def log(self, wanted: Range) -> Log:
        return self.cluster.logs[wanted.partition]


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    partitions = {
        TopicPartition("t", number): log for number, log in enumerate(draw(st.lists(logs, min_size=1, max_size=6)))
    }
    requests = []
    for partition, log in partitions.items():
        cuts = draw(st.sets(st.integers(log.start, log.end), max_size=3)) | {log.start, log.end}
        edges = sorted(cuts)
        for start, end in itertools.pairwise(edges):
            if draw(st.integers(0, 4)):
                requests.append(ReadRequest(Range(partition, start, end), draw(st.sampled_from([0, 100, 5000, 10**7]))))
    faults: Sequence[Fault | None] = draw(st.lists(passing_faults, max_size=12))
    latencies: Sequence[float] = draw(st.lists(st.floats(0, 2), max_size=30))
    slow: Sequence[bool] = draw(st.lists(st.booleans(), max_size=12))
    cluster = SimulatedCluster(partitions, faults=iter(faults), latencies=iter(latencies), slow_storage=iter(slow))
    return Scenario(cluster, draw(st.permutations(requests)))


def reader_of(cluster: SimulatedCluster, reader_settings: ReaderSettings = SMALL) -> KafkaReader:
    return KafkaReader({}, reader_settings, connect=lambda *_: cluster, inbox=lambda: cluster.inbox)


def rows(batches: Iterator[object]) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    for batch in batches:
        found += zip(batch["offset"].to_pylist(), batch["value"].to_pylist(), strict=True)  # type: ignore[index]
    return found


@pytest.mark.slow
@examples(150)
@given(scenarios())
def test_every_offset_is_read_once_and_in_order_within_bounded_memory(scenario: Scenario) -> None:
    reader = reader_of(scenario.cluster)
    found = {}
    for read in reader.read(scenario.requests):
        assert read.range not in found
        found[read.range] = rows(read.batches())
        assert read.unexplained == simulated.unexplained(scenario.log(read.range), read.range)
    assert found.keys() == {request.range for request in scenario.requests}
    for wanted, records in found.items():
        assert records == simulated.expected(scenario.log(wanted), wanted)
    assert "corrupt" not in reader.stats.retries
    largest = max(log.largest_batch for log in scenario.cluster.logs.values())
    # Each of the three brokers can exceed what it was asked for by a record batch that is larger than that.
    assert reader.stats.peak_buffer_bytes <= SMALL.buffer_bytes + 3 * (largest + simulated.OVERHEAD)


@pytest.mark.slow
@examples(60)
@given(scenarios(), st.randoms(use_true_random=False))
def test_ranges_that_are_given_up_do_not_concern_the_others(scenario: Scenario, choice: random.Random) -> None:
    for read in reader_of(scenario.cluster).read(scenario.requests):
        batches = read.batches()
        if choice.random() < 0.4:
            if choice.random() < 0.5:
                next(batches, None)
            continue
        assert rows(batches) == simulated.expected(scenario.log(read.range), read.range)


@pytest.mark.slow
@examples(60)
@given(scenarios(), st.lists(st.booleans(), max_size=6))
def test_passing_corruption_is_not_noticed(scenario: Scenario, damaged: list[bool]) -> None:
    scenario.cluster.faults = iter([simulated.corrupted if one else None for one in damaged])
    reader = reader_of(scenario.cluster, replace(SMALL, corrupt_retries=6))
    for read in reader.read(scenario.requests):
        assert rows(read.batches()) == simulated.expected(scenario.log(read.range), read.range)
