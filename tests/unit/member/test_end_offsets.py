"""Ends and ages of partitions, where Kafka tells them for some only."""

from types import SimpleNamespace
from typing import Any

from logpersister.member.end_offsets import EndOffsetMonitor
from tests.unit.member.fakes import CLICKS, ORDERS, TOPIC_ID, FakeOffsets, manifest


def test_the_age_of_a_partition_whose_position_is_in_doubt_is_not_asked() -> None:
    """Its leader was silent when the age was to be asked, and a commit of it has not been acknowledged since."""
    positions = {CLICKS: 3, ORDERS: 3}
    states: Any = SimpleNamespace(
        positions=lambda: dict(positions), owned=lambda: [CLICKS, ORDERS], held=dict, topic_id=lambda _: TOPIC_ID
    )
    offsets, asked = FakeOffsets(), []
    offsets.end = {CLICKS: 9, ORDERS: 9}
    answer = offsets.first_since

    def first_since(timestamps: Any) -> Any:
        asked.append(set(timestamps))
        offsets.leaderless = {ORDERS} if len(asked) == 1 else set()
        return answer(timestamps)

    offsets.first_since = first_since  # type: ignore[method-assign]
    monitor = EndOffsetMonitor(manifest()[0], states, offsets, clock=lambda: 0.0, now=lambda: 1000.0)
    monitor.refresh(ages=True)
    del positions[ORDERS]
    positions[CLICKS] = 5
    assert monitor.refresh(ages=True) == {}
    positions[ORDERS] = 3
    monitor.refresh(ages=True)
    assert asked == [{CLICKS, ORDERS}, {CLICKS}, {ORDERS}]
