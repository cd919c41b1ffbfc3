from hypothesis import given
from hypothesis import strategies as st

from logpersister.plan.packing import LARGE_BYTES, MOST_RANGES_PER_TASK, Work, pack
from logpersister.ranges import Range, TopicPartition


def work(index: int, estimated_bytes: int) -> Work:
    return Work(Range(TopicPartition("t", index), 0, 10), estimated_bytes)


def test_two_thousand_trickles_share_a_few_tasks() -> None:
    jobs = list(pack((work(index, 500) for index in range(2000)), cores=2))
    assert len(jobs) == 2
    assert sum(len(job) for job in jobs) == 4


@given(st.lists(st.integers(0, LARGE_BYTES * 2), max_size=60), st.integers(1, 8))
def test_every_range_is_packed_exactly_once(sizes: list[int], cores: int) -> None:
    items = [work(index, size) for index, size in enumerate(sizes)]
    jobs = list(pack(items, cores))
    packed = [item for job in jobs for task in job for item in task]
    assert sorted(packed, key=lambda item: item.range) == items
    assert all(1 <= len(job) <= cores for job in jobs)
    assert all(1 <= len(task) <= MOST_RANGES_PER_TASK for job in jobs for task in job)
