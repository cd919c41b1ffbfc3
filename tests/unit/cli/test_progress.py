import io
import json
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from logpersister.cli import progress
from logpersister.cli.progress import ProgressReporter, RateEstimate, RateMeter
from logpersister.ranges import Range, TopicPartition
from logpersister.report import logs
from logpersister.report.facts import Identity, RangeWritten, WrittenObject
from logpersister.report.lag import PartitionLag, summarise
from logpersister.report.status import MemberState, StatusBoard

PARTITION = TopicPartition("clicks", 0)


@pytest.fixture
def board() -> StatusBoard:
    return StatusBoard(Identity("group", 1, "0123456789ab", "member", "1.0"))


def store(board: StatusBoard, left: int) -> None:
    board.assigned([PARTITION])
    board.state(MemberState.RUNNING)
    board.range_written(RangeWritten(Range(PARTITION, 0, 100), (WrittenObject("key", 2048, 100),), 5000, 1.0))
    board.lag(summarise([PartitionLag(PARTITION, 100, 100 + left, 1.0)], datetime.now(UTC)))


def test_a_line_of_the_log_only_when_something_has_changed(board: StatusBoard) -> None:
    out = io.StringIO()
    logs.configure("json", "info", out)
    reporter = ProgressReporter(out, interval=0.01)
    reporter.watch(board)
    store(board, left=1500)
    reporter.close()

    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    meter = {"records_per_second": 0, "seconds_left": 0}
    assert {**lines[-1], "timestamp": "", **meter} == {
        **meter,
        "timestamp": "",
        "level": "info",
        "event": "member.progress",
        "state": "running",
        "records": 100,
        "objects": 1,
        "bytes": 2048,
        "left": 1500,
    }
    without_time = [{**line, "timestamp": ""} for line in lines]
    assert all(before != after for before, after in pairwise(without_time))


def test_what_is_left_is_said_only_when_it_is_known_of_every_partition(board: StatusBoard) -> None:
    assert progress.done(board.snapshot()) == "0 records stored in 0 objects (0 B)"
    board.lag(summarise([], datetime.now(UTC)))
    assert progress.left(board.snapshot()) is None
    store(board, left=7)
    board.assigned([PARTITION, TopicPartition("clicks", 1)])
    assert progress.left(board.snapshot()) is None
    board.assigned([PARTITION])
    assert progress.done(board.snapshot()) == "100 records stored in 1 object (2.0 KiB); 7 left"


def test_pace_begins_with_the_run_and_forgets(board: StatusBoard) -> None:
    now = 0.0
    meter = RateMeter(lambda: now)
    assert meter.estimate(board.snapshot()) is None
    now = 1000.0  # it has waited long for a broker
    board.state(MemberState.RUNNING)
    assert meter.estimate(board.snapshot()) is None
    now = 1010.0
    store(board, left=300)
    estimate = meter.estimate(board.snapshot())
    assert estimate == RateEstimate(per_second=10.0, seconds_left=30.0)
    said = "100 records stored in 1 object (2.0 KiB), 10/s; 300 left, about 30s"
    assert progress.done(board.snapshot(), estimate) == said
    now = 1050.0
    assert meter.estimate(board.snapshot()) == RateEstimate(per_second=2.0, seconds_left=150.0)
    now = 1060.0
    store(board, left=200)
    assert meter.estimate(board.snapshot()) == RateEstimate(per_second=2.0, seconds_left=100.0)
