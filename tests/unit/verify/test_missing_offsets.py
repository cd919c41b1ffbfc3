from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.ranges import Range
from logpersister.records.schema import RECORDS
from logpersister.storage.left_out import LeftOutRange
from logpersister.storage.replays import Replay, Source
from logpersister.verify.evidence import KafkaView, PartitionEvidence
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.missing_offsets import LeavesOut, Omissions, UnderAt, explain, leaves_out
from logpersister.verify.replays import NotedReplay
from logpersister.verify.tiling import examine
from logpersister.verify.writing import Writing
from tests.unit.formats.samples import Record, batch, with_headers
from tests.unit.manifest.documents import accepted
from tests.unit.pipeline.fakes import FakeRead
from tests.unit.verify.samples import CLICKS, ID, committed, evidence, stored_object

SIDES = [stored_object(0, 100), stored_object(200, 300)]


class Log:
    """Kafka with records at these offsets, or an error for ranges that begin at these."""

    def __init__(
        self, *offsets: int, errors: Mapping[int, RangeReadError] | None = None, silent_from: int = 1_000
    ) -> None:
        """``silent_from``: from there on nothing shows why there is no record."""
        self._offsets, self._errors = offsets, errors or {}
        self.silent_from = silent_from

    def read(self, requests: list[ReadRequest]) -> Iterator[FakeRead]:
        for wanted in (request.range for request in requests):
            error = self._errors.get(wanted.start)
            rows = [
                {"offset": offset, "timestamp": 0, "key": None, "value": b"x"}
                for offset in self._offsets
                if wanted.start <= offset < wanted.end
            ]
            batches = [] if error else [pa.RecordBatch.from_pylist(rows, RECORDS)]
            yield FakeRead(wanted, batches, error, max(0, wanted.end - max(wanted.start, self.silent_from)))


def explained(log: Log, seen: PartitionEvidence) -> list[Finding]:
    return list(explain(examine(seen), log))


DAMAGED = Log(errors={100: RangeReadError("corrupt", CLICKS, 100, "the batch is damaged")})
SEEN = evidence(SIDES, committed(300))


@pytest.mark.parametrize(
    ("log", "seen", "expected", "told"),
    [
        (Log(150, 160), SEEN, [(Kind.MISSING, 100, 200, True)], "the first at offset 150"),
        (Log(50, 250), SEEN, [(Kind.NO_RECORD, 100, 200, False)], ""),
        (Log(50, silent_from=160), SEEN, [(Kind.NO_RECORD, 100, 160, False), (Kind.UNEXPLAINED, 160, 200, False)], ""),
        (
            Log(),
            evidence(SIDES, committed(300), kafka=KafkaView("topic-id", 150, 1_000)),
            [(Kind.UNKNOWN, 100, 150, True), (Kind.NO_RECORD, 150, 200, False)],
            "",
        ),
        (
            Log(150),
            evidence(SIDES, committed(300), kafka=None),
            [(Kind.UNKNOWN, 100, 200, True)],
            "no longer has this partition",
        ),
        (
            Log(150),
            evidence(SIDES, committed(300), kafka=KafkaView("new", 0, 1_000)),
            [(Kind.UNKNOWN, 100, 200, True)],
            "created again",
        ),
        (DAMAGED, SEEN, [(Kind.UNKNOWN, 100, 200, True)], "the batch is damaged"),
        (
            Log(0, 250),
            evidence(SIDES[1:], committed(300), from_earliest=True),
            [(Kind.MISSING, 0, 200, True)],
            "startFrom is earliest",
        ),
    ],
    ids=["records", "no records", "silence", "retention", "gone", "again", "damaged", "before the first"],
)
def test_offsets_that_no_object_has(
    log: Log, seen: PartitionEvidence, expected: list[tuple[Kind, int, int, bool]], told: str
) -> None:
    findings = explained(log, seen)
    assert [(one.kind, one.start, one.end, one.is_problem) for one in findings] == expected
    assert told in findings[0].message
    assert {one.generation for one in findings} == {1}


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


def noted(start: int, end: int, *, revision: str = "a", topic_id: str | None = ID) -> LeftOutRange:
    return LeftOutRange(Range(CLICKS, start, end), topic_id, 1, revision, end - start)


def by_offset(*left_out: int) -> LeavesOut:
    return lambda batch: np.isin(batch.column("offset").to_numpy(), left_out)


def left_out(log: Log, omissions: Omissions, *notes: LeftOutRange, log_start: int = 0) -> list[tuple[Kind, int, int]]:
    kafka = KafkaView(ID, log_start, 1_000)
    seen = evidence(SIDES, committed(300), left_out=notes, kafka=kafka)
    return [(one.kind, one.start, one.end) for one in explain(examine(seen), log, omissions)]


def test_notes_of_what_is_left_out_are_believed_unless_their_revision_is_given() -> None:
    """So a verification that is not deep reads none of the records, and what Kafka has deleted is explained, too."""
    unreadable = Log(errors=dict.fromkeys(range(100, 200), RangeReadError("kafka", CLICKS, 100, "away")))
    notes = (noted(100, 150), noted(150, 180), noted(180, 200, revision="b"))
    for log_start in (0, 150, 1_000):
        assert left_out(unreadable, Omissions(), *notes, log_start=log_start) == [
            (Kind.LEFT_OUT, 100, 180),
            (Kind.LEFT_OUT, 180, 200),
        ]


def test_a_backup_notes_what_has_no_record() -> None:
    empty = replace(noted(100, 200), records=0)
    assert left_out(Log(), Omissions(), empty, log_start=1_000) == [(Kind.NO_RECORD, 100, 200)]


def test_notes_are_checked_by_their_revision_and_the_rest_by_the_manifest() -> None:
    """A filter that has changed since, or records that somebody has claimed to be left out."""
    under: dict[str, LeavesOut] = {"a": by_offset(110, 120), "b": by_offset()}
    omissions = Omissions(by_offset(160), under.get)
    log = Log(110, 120, 160)
    assert left_out(log, omissions, noted(100, 150)) == [(Kind.LEFT_OUT, 100, 150), (Kind.LEFT_OUT, 150, 200)]
    assert left_out(log, omissions, noted(100, 150, revision="b")) == [
        (Kind.MISSING, 100, 150),
        (Kind.LEFT_OUT, 150, 200),
    ]
    assert left_out(log, omissions, noted(100, 150), log_start=115) == [
        (Kind.LEFT_OUT, 100, 115),
        (Kind.LEFT_OUT, 115, 150),
        (Kind.LEFT_OUT, 150, 200),
    ]
    assert left_out(log, Omissions(), noted(100, 150)) == [(Kind.LEFT_OUT, 100, 150), (Kind.MISSING, 150, 200)]


def by_writer(revision: str, horizon: int | None, *left_out: int) -> UnderAt:
    """Return omissions of one revision and horizon; it is asked for no others."""
    return lambda *of: {(revision, horizon): by_offset(*left_out)}[of]


def test_what_a_replay_has_left_out_of_quarantine_is_explained_by_its_note() -> None:
    """Of its range nothing else was stored; a record that was not refused then should still be there."""
    source = Source("clicks/_quarantine/1_0_x.parquet", Range(CLICKS, 100, 200), ID, 1, 110, 120, 2, "crc32:1", "old")
    kept, gone = (NotedReplay("raw/x", Replay(source, "new", {}, left_out=count), {}, True) for count in (0, 2))
    for replay, omissions, expected in (
        (gone, Omissions(), Kind.LEFT_OUT),
        (gone, Omissions(of_replayed=by_writer("old", None, 110, 120)), Kind.LEFT_OUT),
        (gone, Omissions(of_replayed=by_writer("old", None, 110)), Kind.MISSING),
        (kept, Omissions(), Kind.MISSING),
    ):
        seen = evidence(SIDES, committed(300), replays=[replay])
        assert [one.kind for one in explain(examine(seen), Log(110, 120), omissions)] == [expected]


def test_late_records_that_a_replay_leaves_out_are_found_by_the_horizon_that_had_put_them_there() -> None:
    """That of the range for what a member has stored, that of the replay for what a replay has refused again."""
    name = "clicks/_quarantine/1_0_00000000000000000100.parquet"
    first = Replay(Source(name, Range(CLICKS, 100, 200), ID, 1, 110, 120, 2, "crc32:1", "old", 7), "new", horizon=9)
    again = name.replace(".parquet", f".r{first.id}.parquet")
    settled = replace(first, objects={again: 2})
    second = Replay(replace(first.source, path=again, revision="new"), "newest", {}, left_out=2)
    of_member = Replay(first.source, "new", {}, left_out=2)
    for replays, omissions in (
        ([of_member], by_writer("old", 7, 110, 120)),
        ([settled, second], by_writer("new", 9, 110, 120)),
    ):
        noted = [NotedReplay(f"raw/{one.source.path}", one, one.keys("raw"), True) for one in replays]
        seen = evidence(SIDES, committed(300), replays=noted)
        findings = explain(examine(seen), Log(110, 120), Omissions(of_replayed=omissions))
        assert [one.kind for one in findings] == [Kind.LEFT_OUT]


def test_which_records_a_revision_leaves_out_or_has_put_into_quarantine() -> None:
    """Refused ones, and late ones by the horizon of their range: those that are left out are never late."""
    shape: dict[str, Any] = {
        "spec.value": {"json": {"fields": [{"name": "n", "type": "int64"}]}},
        "spec.quarantine": {"format": "parquet"},
        "spec.keep": [{"field": "n", "atLeast": 2}, {"header": "env", "absent": True}],
        "spec.output": {"parquet": {}, "partitionBy": [{"date": {"granularity": "day"}}]},
        "spec.finish": {"late": "quarantine"},
    }
    day = 86_400_000
    values = [(0, b'{"n": 1}'), (0, b'{"n": 2}'), (day, b'{"n": 2}'), (day, b"{"), (day, b'{"n": 3}')]
    rows = [Record(offset, timestamp, None, value) for offset, (timestamp, value) in enumerate(values)]
    records = with_headers(batch(rows), [[], [], [], [], [(b"env", b"x")]])
    for late, horizon, expected in (
        ("quarantine", day, [True, True, False, True, True]),
        ("quarantine", None, [True, False, False, True, True]),
        ("folder", day, [True, False, False, True, True]),
    ):
        writing = Writing(accepted(shape | {"spec.finish": {"late": late}}).spec, lambda _: None)
        judged = leaves_out(writing.layout_at(horizon), counts_refused=True)
        assert judged(records).tolist() == expected
