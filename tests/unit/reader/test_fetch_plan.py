"""Which request comes next: pure decisions."""

import itertools
from collections.abc import Collection, Mapping

from hypothesis import given
from hypothesis import strategies as st

from logpersister.pipeline.reader import RangeReadError, ReaderSettings, ReadRequest
from logpersister.pipeline.reader.fetch import Planned, RangeState, plan
from logpersister.pipeline.reader.messages import Location
from logpersister.pipeline.reader.settings import KIB, MIB
from logpersister.ranges import Range, TopicPartition

SETTINGS = ReaderSettings(client_rack="zone-a")
LEADER_1 = Location(leader=1, leader_epoch=5, replicas=frozenset({1, 2}))


def state(number: int, estimated: int, *, start: int = 0, end: int = 100) -> RangeState:
    request = ReadRequest(Range(TopicPartition("t", number), start, end), estimated)
    return RangeState(request, start, None)


def planned(
    states: Collection[RangeState],
    locations: Mapping[int, Location] | None = None,
    *,
    silent: Collection[int] = (),
    free: int = SETTINGS.buffer_bytes,
    now: float = 0,
) -> list[Planned]:
    def locate(one: RangeState) -> Location:
        return (locations or {}).get(one.request.range.partition.partition, LEADER_1)

    return plan(states, locate, SETTINGS, silent=silent, free=free, now=now)


def partitions(one: Planned) -> list[int]:
    return [part.partition.partition for part in one.call.parts]


def test_hundreds_of_small_ranges_share_one_request() -> None:
    (only,) = planned([state(number, 1000) for number in range(300)])
    assert partitions(only) == list(range(300))
    assert only.call.max_bytes == SETTINGS.request_bytes
    assert (only.call.node, only.call.rack, only.call.read_committed) == (1, "zone-a", True)


def test_what_pauses_failed_or_has_no_leader_is_left_out() -> None:
    pausing, failed, asked, done, leaderless, ready = (state(number, 10) for number in range(6))
    pausing.not_before = 10
    failed.error = RangeReadError("kafka", failed.request.range.partition, 0, "")
    (asking,) = planned([asked])
    asked.asked = asking.call
    done.position = 100
    states = [pausing, failed, asked, done, leaderless, ready]
    (only,) = planned(states, {4: Location(leader=None)})
    assert partitions(only) == [5]
    (later,) = planned(states, {4: Location(leader=None)}, now=10)
    assert partitions(later) == [0, 5]


def test_room_for_the_next_range_is_not_given_to_others() -> None:
    locations = {1: Location(leader=2)}
    both = [state(0, 10 * MIB), state(1, 10 * MIB)]
    assert len(planned(both, locations, free=12 * MIB)) == 2
    first, second = planned(both, locations, free=9 * MIB)
    assert (first.call.max_bytes, second.call.max_bytes) == (4 * MIB, 1 * MIB)
    assert [partitions(one) for one in planned(both, locations, free=8 * MIB)] == [[0]]
    assert planned(both, locations, free=10 * KIB) == []


def test_the_preferred_replica_is_asked_until_it_expires_or_is_none() -> None:
    one = state(0, 10)
    one.preferred = (2, 100.0)
    assert [asked.call.node for asked in planned([one], now=99)] == [2]
    assert [asked.call.node for asked in planned([one], now=100)] == [1]
    one.preferred = (3, 100.0)
    assert [asked.call.node for asked in planned([one], now=0)] == [1]
    assert one.preferred is None


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20 * MIB), st.integers(1, 3)), max_size=40),
    st.integers(-MIB, SETTINGS.buffer_bytes),
    st.sets(st.integers(1, 3)),
)
def test_requests_stay_within_what_is_free(
    wanted: list[tuple[int, int, int]], free: int, silent: Collection[int]
) -> None:
    leaders = {number: Location(leader=node) for number, _, node in wanted}
    states = [
        state(number, size, start=100 * place, end=100 * place + 100) for place, (number, size, _) in enumerate(wanted)
    ]
    found = planned(states, leaders, silent=silent, free=free)
    assert sum(one.call.max_bytes for one in found) <= max(free, 0)
    assert not {one.call.node for one in found} & set(silent)
    assert len({one.call.node for one in found}) == len(found)
    for one in found:
        assert 0 < one.call.max_bytes <= SETTINGS.request_bytes
        assert len(set(partitions(one))) == len(one.call.parts)
        assert all(0 < part.max_bytes <= one.call.max_bytes for part in one.call.parts)
        order = [states.index(chosen) for chosen in one.states]
        assert order == sorted(order)
    first = next((one for one in states if leaders[one.request.range.partition.partition].leader not in silent), None)
    if first is states[0] if states else False:
        chosen = itertools.chain.from_iterable(one.states for one in found)
        assert (free < SETTINGS.partition_bytes) != any(one is first for one in chosen)
