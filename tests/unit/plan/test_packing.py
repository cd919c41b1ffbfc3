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


def test_a_large_range_is_a_task_of_its_own_and_large_ranges_spread_over_jobs() -> None:
    jobs = list(pack((work(index, LARGE_BYTES) for index in range(5)), cores=2))
    assert [[len(task) for task in job] for job in jobs] == [[1, 1], [1, 1], [1]]


def test_small_ranges_use_all_cores_when_it_is_worth_a_task() -> None:
    (job,) = pack((work(index, 1 << 20) for index in range(8)), cores=4)
    assert [len(task) for task in job] == [2, 2, 2, 2]


@given(st.lists(st.integers(0, LARGE_BYTES * 2), max_size=60), st.integers(1, 8))
def test_every_range_is_packed_exactly_once(sizes: list[int], cores: int) -> None:
    items = [work(index, size) for index, size in enumerate(sizes)]
    jobs = list(pack(items, cores))
    packed = [item for job in jobs for task in job for item in task]
    assert sorted(packed, key=lambda item: item.range) == items
    assert all(1 <= len(job) <= cores for job in jobs)
    assert all(1 <= len(task) <= MOST_RANGES_PER_TASK for job in jobs for task in job)
