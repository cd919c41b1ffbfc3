from typing import Any

import pytest

from logpersister.pipeline.reader import RangeReadError
from logpersister.pipeline.task import MOST_UNFINISHED, Equipment, Task, work_error
from logpersister.pipeline.work import RangeOutcome, RangeWork, WorkError
from logpersister.storage.errors import StorageError
from tests.unit.pipeline.fakes import CLICKS, FakeBucket, FakeReader, Lines, Modulo, work


class Bench:
    """What a task works with."""

    def __init__(self, folders: int = 1) -> None:
        self.reader, self.bucket = FakeReader(), FakeBucket()
        layout: Any = Modulo(folders)
        self.equipment = Equipment(self.reader, layout, Lines(), self.bucket.open_upload)

    def task(self, *items: RangeWork) -> Task:
        return Task(items, self.equipment)

    def run(self, *items: RangeWork) -> dict[int, RangeOutcome]:
        outcomes = list(self.task(*items).outcomes())
        assert sorted(it.range for it in outcomes) == sorted(item.range for item in items), "one outcome for each"
        return {it.range.start: it for it in outcomes}


def test_every_range_has_its_outcome() -> None:
    bench = Bench()
    outcomes = bench.run(work(0, 10), work(20, 27))
    assert [outcomes[start].records for start in (0, 20)] == [10, 7]
    assert all(it.error is None and it.seconds >= 0 for it in outcomes.values())
    assert sorted(bench.bucket.objects) == ["/0", "/20"]
    request = bench.reader.requests[0][0]
    assert (request.topic_id, request.estimated_bytes) == ("id", 1000)


def test_a_bad_range_does_not_fail_its_neighbours_and_leaves_nothing_open() -> None:
    bench = Bench()
    bench.reader.errors[20] = RangeReadError("corrupt", CLICKS, 27, "CRC-32C is wrong")
    bench.bucket.failing = {"/60"}
    outcomes = bench.run(work(0, 10), work(1010, 1020), work(20, 40), work(40, 50), work(60, 70))
    kinds = {start: it.error.kind if it.error else None for start, it in outcomes.items()}
    assert kinds == {0: None, 1010: "encode", 20: "corrupt", 40: None, 60: "throttled"}
    assert sorted(bench.bucket.aborted) == ["/1010", "/20"]
    assert bench.bucket.open == 0
    assert outcomes[20].objects == ()


def test_ranges_with_many_paths_are_read_again_and_the_others_are_not() -> None:
    bench = Bench(folders=12)
    outcomes = bench.run(work(20, 44), work(0, 5))
    assert [len(outcomes[start].objects) for start in (20, 0)] == [12, 5]
    assert [[it.range.start for it in requests] for requests in bench.reader.requests] == [[20, 0], [20]]


def test_a_reader_that_breaks_fails_what_is_left_only() -> None:
    bench = Bench()
    outcomes = bench.task(work(0, 10), work(20, 30), work(40, 50)).outcomes()
    first = next(outcomes)
    assert (first.range.start, first.error) == (40, None)
    bench.reader.broken = ConnectionError("no broker")
    rest = list(outcomes)
    assert {it.range.start: it.error.kind if it.error else None for it in rest} == {20: "encode", 0: "encode"}


def test_what_is_partly_lost_is_read_from_where_it_begins_and_told_of_as_promised() -> None:
    bench = Bench()
    (outcome,) = bench.task(work(0, 10, read_from=4)).outcomes()
    assert bench.reader.requests[0][0].range.start == 4
    assert outcome.range.start == 0
    assert outcome.records == 6
    assert list(bench.bucket.objects) == ["/0"], "named as promised"


def test_ranges_are_read_on_while_others_become_durable_up_to_a_limit() -> None:
    bench = Bench()
    waiting = bench.bucket.waiting = []
    original, most_waiting = bench.equipment.open_upload, 0

    def open_upload(item: RangeWork, path: str) -> Any:
        nonlocal most_waiting
        most_waiting = max(most_waiting, len(waiting))
        if len(waiting) >= MOST_UNFINISHED:  # the bucket answers, at last
            future, stored = waiting.pop(0)
            future.set_result(stored)
        return original(item, path)

    items = [work(10 * index, 10 * index + 3) for index in range(2 * MOST_UNFINISHED)]
    outcomes = Task(items, Equipment(bench.reader, bench.equipment.layout, Lines(), open_upload)).outcomes()
    first = [next(outcomes) for _ in range(MOST_UNFINISHED)]
    assert most_waiting == MOST_UNFINISHED
    for future, stored in waiting:
        future.set_result(stored)
    assert len([*first, *outcomes]) == len(items)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            RangeReadError("data-lost", CLICKS, 5, "gone", log_start=9),
            WorkError("data-lost", "clicks-0 at offset 5: gone", log_start=9),
        ),
        (
            RangeReadError("unauthorized", CLICKS, 5, "no"),
            WorkError("unauthorized", "clicks-0 at offset 5: no"),
        ),
        (StorageError("timeout", "S3 did not answer"), WorkError("timeout", "S3 did not answer", upload=True)),
        (ValueError("a value with a newline"), WorkError("encode", "ValueError: a value with a newline")),
    ],
)
def test_errors_are_told_by_what_can_be_done_about_them(error: Exception, expected: WorkError) -> None:
    assert work_error(error) == expected
