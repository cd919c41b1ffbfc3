import json
from dataclasses import replace
from datetime import timedelta

import pytest

from logpersister.report import status
from logpersister.report.document import status_document
from logpersister.report.facts import DataLoss, HeldPartition, PendingIntent, RunningJob, TypeCounts
from logpersister.report.lag import PartitionLag, summarise
from logpersister.report.status import MemberState, StatusBoard
from logpersister.report.tables import TableReport, TablesReport
from logpersister.report.types import MAX_TYPES
from tests.unit.report.samples import IDENTITY, NOON, Clock, failed, partition, partly_refused, written


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(clock: Clock) -> StatusBoard:
    return StatusBoard(IDENTITY, clock.now)


def test_written_ranges_are_totalled_and_the_last_objects_named_newest_first(board: StatusBoard, clock: Clock) -> None:
    for start in range(0, 200, 10):
        clock.forward(1)
        board.range_written(written(start=start))

    document = status_document(board.snapshot())["uploads"]
    assert (document["objects"], document["bytes"], document["records"], document["ranges"]) == (20, 2_000, 200, 20)
    assert document["last"] == "2026-11-21T12:00:20.000Z"
    assert len(document["recent"]) == status.MAX_UPLOADS
    assert document["recent"][0]["key"] == "raw/clicks/190-0"


def test_what_the_parser_refused_is_told_by_range_newest_first(board: StatusBoard, clock: Clock) -> None:
    nothing = status_document(board.snapshot())["quarantine"]
    assert nothing == {"records": 0, "last": None, "recent": []}
    for start in range(0, 20 * 15, 20):
        clock.forward(1)
        board.range_written(partly_refused(start, reason="why " * 1_000))
    clock.forward(1)
    board.range_written(written(start=300))

    document = status_document(board.snapshot())
    assert document["uploads"]["records"] == 15 * 12 + 10, "they are stored, too"
    quarantine = document["quarantine"]
    assert (quarantine["records"], quarantine["last"]) == (30, "2026-11-21T12:00:15.000Z")
    assert len(quarantine["recent"]) == status.MAX_QUARANTINED
    newest = quarantine["recent"][0]
    assert len(newest.pop("reason")) == status.MAX_MESSAGE
    assert newest == {
        "time": "2026-11-21T12:00:15.000Z",
        "topic": "clicks",
        "partition": 0,
        "offset": 283,
        "records": 2,
        "key": "raw/clicks/_quarantine/280",
    }


def job(done: int = 0, partitions: int = 1) -> RunningJob:
    """A job that has run since noon, and went forward a second later if any of its tasks has ended."""
    at = NOON + timedelta(seconds=1) if done else NOON
    return RunningJob(NOON, at, 3, done, 7, 1_000, tuple(partition(number=number) for number in range(partitions)))


def test_progress_is_the_last_end_of_a_range_or_of_a_task(board: StatusBoard, clock: Clock) -> None:
    def progress() -> object:
        return status_document(board.snapshot())["progress"]["at"]

    board.running([job()])
    assert progress() is None, "that a job begins is no progress"
    board.running([job(done=1)])
    assert progress() == "2026-11-21T12:00:01.000Z"
    clock.forward(5)
    board.range_written(written(objects=0))
    board.running([job(done=1)])
    assert progress() == "2026-11-21T12:00:05.000Z"
    assert status_document(board.snapshot())["progress"]["jobs"] == [
        {
            "startedAt": "2026-11-21T12:00:00.000Z",
            "progressAt": "2026-11-21T12:00:01.000Z",
            "tasks": 3,
            "tasksDone": 1,
            "ranges": 7,
            "estimatedBytes": 1_000,
            "partitions": {"count": 1, "first": ["clicks-0"]},
        }
    ]
    board.running([])
    assert progress() == "2026-11-21T12:00:05.000Z", "nothing runs"


def test_errors_are_bounded_and_shortened_newest_first(board: StatusBoard) -> None:
    for start in range(0, 500, 10):
        board.range_failed(failed(start=start, message="x" * 10_000, upload=start == 0))

    document = status_document(board.snapshot())
    assert document["errors"]["count"] == 50
    assert document["uploads"]["failures"] == 1
    assert len(document["errors"]["recent"]) == status.MAX_ERRORS
    first = document["errors"]["recent"][0]
    assert (first["topic"], first["partition"], first["start"], first["end"], first["kind"]) == (
        "clicks",
        0,
        490,
        500,
        "timeout",
    )
    assert len(first["message"]) == status.MAX_MESSAGE


def test_failures_of_the_last_hour_are_forgotten_by_the_minute(board: StatusBoard, clock: Clock) -> None:
    board.range_failed(failed(upload=True))
    clock.forward(30 * 60)
    board.range_failed(failed())
    document = status_document(board.snapshot())
    assert (document["errors"]["lastHour"], document["uploads"]["failuresLastHour"]) == (2, 1)

    clock.forward(31 * 60)
    document = status_document(board.snapshot())
    assert (document["errors"]["lastHour"], document["uploads"]["failuresLastHour"]) == (1, 0)
    assert document["errors"]["count"] == 2


def test_lag_shows_the_worst_and_an_unknown_one_is_not_the_last_known(board: StatusBoard) -> None:
    board.lag(
        summarise([PartitionLag(partition(number=number), 0, number, float(number)) for number in range(50)], NOON)
    )
    lag = status_document(board.snapshot())["lag"]
    assert lag["complete"] is True
    assert (lag["known"], lag["records"], lag["seconds"], lag["behindPartitions"]) == (True, 1225, 49.0, 49)
    assert lag["worst"][0] == {
        "topic": "clicks",
        "partition": 49,
        "position": 0,
        "end": 49,
        "records": 49,
        "seconds": 49.0,
    }
    assert len(lag["worst"]) == 10

    board.assigned([partition(number=number) for number in range(51)])
    assert status_document(board.snapshot())["lag"]["complete"] is False, "one partition was not looked at yet"

    board.lag_unknown("broker-1:9092 did not answer")
    assert status_document(board.snapshot())["lag"] == {"known": False, "message": "broker-1:9092 did not answer"}


def test_the_document_is_small_whatever_the_number_of_partitions(board: StatusBoard) -> None:
    many = [partition(f"a-topic-with-a-rather-long-name-{number % 50}", number) for number in range(20_000)]
    long = "why " * 10_000
    board.assigned(many)
    board.lag(summarise((PartitionLag(one, 0, 10**12, 1e6) for one in many), NOON))
    board.pending(PendingIntent(one, 0, tuple(range(1, 65)), "0123456789ab", 1) for one in many)
    board.held(HeldPartition(one, "data-lost", long) for one in many)
    for one in many[:1000]:
        board.data_lost(DataLoss(one, 0, 10, skipped=True))
        board.range_failed(failed(one.topic, message=long))
        board.range_written(written(one.topic, objects=50))
        board.range_written(partly_refused(reason=long))
    for number in range(1000):
        counts = TypeCounts(10**15, 10**18, 10**15, 10**15, number * 10**9)
        board.range_written(replace(written(many[number].topic), types={f"{number:0100}": counts}))
    board.running([job(partitions=500)] * 4)
    board.state(MemberState.RUNNING, long)

    document = status_document(board.snapshot())
    assert len(json.dumps(document)) < 100_000
    assert document["types"]["count"] == MAX_TYPES + 1
    assert document["assignment"]["count"] == 20_000
    assert document["pendingIntents"]["count"] == 20_000
    assert document["heldPartitions"]["count"] == 20_000
    assert document["dataLoss"]["offsets"] == 10_000


def test_tables_are_told_the_oldest_receipt_first(board: StatusBoard) -> None:
    assert status_document(board.snapshot())["tables"] is None
    behind = [TableReport("t", f"lake.{number:02}", 2, NOON - timedelta(minutes=number), NOON) for number in range(12)]
    board.tables(TablesReport(60, [*behind, TableReport("t", "lake.current")], 7))
    told = status_document(board.snapshot())["tables"]
    assert (told["count"], told["rows"], told["behind"], len(told["mostBehind"])) == (13, 7, 12, 10)
    assert told["mostBehind"][0] == {
        "topic": "t",
        "table": "lake.11",
        "receipts": 2,
        "oldest": "2026-11-21T11:49:00.000Z",
        "lastSnapshot": "2026-11-21T12:00:00.000Z",
    }


def test_types_are_told_by_age_and_by_quarantine(board: StatusBoard) -> None:
    assert status_document(board.snapshot())["types"] is None
    noon, hour = int(NOON.timestamp() * 1000), 3_600_000
    board.range_written(
        replace(written(), types={"order": TypeCounts(10, 500, 2, 0, noon), "noise": TypeCounts(dropped=5)})
    )
    board.range_written(replace(written(), types={"refund": TypeCounts(3, 30, 0, 0, noon - hour)}))
    board.range_written(replace(written(), types={"order": TypeCounts(1, 5, 1, 0, noon - 2 * hour)}))
    told = status_document(board.snapshot())["types"]
    assert {name: told[name] for name in ("count", "records", "bytes", "quarantined", "dropped")} == {
        "count": 3, "records": 14, "bytes": 535, "quarantined": 3, "dropped": 5
    }  # fmt: skip
    assert [(one["type"], one["newest"]) for one in told["stalest"]] == [
        ("refund", "2026-11-21T11:00:00Z"),
        ("order", "2026-11-21T12:00:00Z"),
    ]
    assert told["mostQuarantined"] == [
        {"topic": "clicks", "type": "order", "records": 11, "bytes": 505, "quarantined": 3, "dropped": 0,
         "newest": "2026-11-21T12:00:00Z"}
    ]  # fmt: skip
    assert told["newest"] == {"clicks": {"order": "2026-11-21T12:00:00Z", "refund": "2026-11-21T11:00:00Z"}}
