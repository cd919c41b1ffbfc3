from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pytest

from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.ranges import Range
from logpersister.records.schema import RECORDS
from logpersister.verify.evidence import KafkaView, PartitionEvidence
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.missing_offsets import explain
from logpersister.verify.tiling import examine
from tests.unit.verify.samples import CLICKS, committed, evidence, stored_object

SIDES = [stored_object(0, 100), stored_object(200, 300)]


class Log:
    """Kafka with records at these offsets, or an error for ranges that begin at these."""

    def __init__(
        self, *offsets: int, errors: Mapping[int, RangeReadError] | None = None, silent_from: int = 1_000
    ) -> None:
        """``silent_from``: from there on nothing shows why there is no record."""
        self._offsets, self._errors = offsets, errors or {}
        self.silent_from = silent_from

    def read(self, requests: list[ReadRequest]) -> "Iterator[Read]":
        for request in requests:
            yield Read(self, request.range)

    def batches(self, wanted: Range) -> Iterator[pa.RecordBatch]:
        if wanted.start in self._errors:
            raise self._errors[wanted.start]
        rows = [
            {"offset": offset, "timestamp": 0, "key": None, "value": b"x"}
            for offset in self._offsets
            if wanted.start <= offset < wanted.end
        ]
        yield pa.RecordBatch.from_pylist(rows, RECORDS)


class Read:
    def __init__(self, log: Log, wanted: Range) -> None:
        self._log, self._wanted = log, wanted

    def batches(self) -> Iterator[pa.RecordBatch]:
        return self._log.batches(self._wanted)

    @property
    def unexplained(self) -> int:
        return max(0, self._wanted.end - max(self._wanted.start, self._log.silent_from))


def explained(log: Log, seen: PartitionEvidence) -> list[Finding]:
    return list(explain(examine(seen), log))


def test_kafka_has_records_there() -> None:
    (finding,) = explained(Log(150, 160), evidence(SIDES, committed(300)))
    assert (finding.kind, finding.start, finding.end, finding.generation) == (Kind.MISSING, 100, 200, 1)
    assert "the first at offset 150" in finding.message


def test_kafka_has_no_record_there() -> None:
    (finding,) = explained(Log(50, 250), evidence(SIDES, committed(300)))
    assert (finding.kind, finding.is_problem) == (Kind.NO_RECORD, False)


def test_kafka_only_says_nothing_there() -> None:
    findings = explained(Log(50, silent_from=160), evidence(SIDES, committed(300)))
    assert [(one.kind, one.start, one.end, one.is_problem) for one in findings] == [
        (Kind.NO_RECORD, 100, 160, False),
        (Kind.UNEXPLAINED, 160, 200, False),
    ]


def test_silence_behind_records_that_are_left_out_is_still_told() -> None:
    examination = examine(evidence(SIDES, committed(300)))
    findings = explain(examination, Log(120, silent_from=160), lambda batch: np.ones(batch.num_rows, np.bool_))
    assert [(one.kind, one.start, one.end) for one in findings] == [
        (Kind.LEFT_OUT, 100, 160),
        (Kind.UNEXPLAINED, 160, 200),
    ]


@pytest.mark.parametrize(
    ("log", "log_start", "expected"),
    [
        (Log(80), 0, [(Kind.MISSING, 60, 100)]),
        (Log(20, silent_from=60), 0, [(Kind.UNEXPLAINED, 60, 100)]),
        (Log(20, 150), 0, []),
        (Log(), 120, [(Kind.UNEXPLAINED, 60, 100)]),
        (Log(), 70, [(Kind.UNEXPLAINED, 60, 70)]),
        (Log(errors={60: RangeReadError("corrupt", CLICKS, 60, "damaged")}), 0, [(Kind.UNKNOWN, 60, 100)]),
    ],
    ids=["records", "silence", "explained-now", "too-late", "partly-too-late", "unreadable"],
)
def test_the_end_of_a_range_of_which_kafka_only_said_nothing(log: Log, log_start: int, expected: list[object]) -> None:
    objects = [stored_object(0, 100, last=59, records=60, unexplained=40), stored_object(100, 300)]
    findings = explained(log, evidence(objects, committed(300), kafka=KafkaView("topic-id", log_start, 1_000)))
    assert [(one.kind, one.start, one.end) for one in findings] == expected
    assert {one.key for one in findings} <= {objects[0].key}


def test_what_retention_has_taken_is_not_known() -> None:
    seen = evidence(SIDES, committed(300), kafka=KafkaView("topic-id", 150, 1_000))
    findings = explained(Log(), seen)
    assert [(one.kind, one.start, one.end) for one in findings] == [
        (Kind.UNKNOWN, 100, 150),
        (Kind.NO_RECORD, 150, 200),
    ]
    assert findings[0].is_problem


def test_topics_that_cannot_tell() -> None:
    (gone,) = explained(Log(150), evidence(SIDES, committed(300), kafka=None))
    (again,) = explained(Log(150), evidence(SIDES, committed(300), kafka=KafkaView("new", 0, 1_000)))
    assert (gone.kind, again.kind) == (Kind.UNKNOWN, Kind.UNKNOWN)
    assert "no longer has this partition" in gone.message
    assert "created again" in again.message


def test_a_read_that_fails_is_not_known() -> None:
    log = Log(errors={100: RangeReadError("corrupt", CLICKS, 100, "the batch is damaged")})
    (finding,) = explained(log, evidence(SIDES, committed(300)))
    assert finding.kind is Kind.UNKNOWN
    assert "the batch is damaged" in finding.message


def test_records_before_the_first_object() -> None:
    (finding,) = explained(Log(0, 250), evidence(SIDES[1:], committed(300), from_earliest=True))
    assert (finding.kind, finding.start, finding.end) == (Kind.MISSING, 0, 200)
    assert "startFrom is earliest" in finding.message
