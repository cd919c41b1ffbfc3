"""Why offsets are in no object: what members have noted of them, and whether Kafka has records there."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.pipeline.splitting import sides
from logpersister.plan.intents import same_topic
from logpersister.ranges import Offset, Range, Span, common, minus
from logpersister.records.topic_layout import TopicLayout
from logpersister.storage.left_out import LeftOutRange
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.tiling import Examination, MissingOffsets

NOTHING_THERE = "Kafka has no record there (compaction, aborted transactions or their markers)"
NOTED_EMPTY = "it is noted that Kafka had no record there when the range was stored"
SILENCE = "Kafka delivers nothing there, and no record batch shows why (compaction, open transactions)"

ESTIMATE = 64 * 1024
"""Bytes that are asked for first: one record is enough to know."""


class RangeRecords(Protocol):
    """One range being read."""

    def batches(self) -> Iterator[pa.RecordBatch]: ...

    @property
    def unexplained(self) -> int:
        """Offsets at the end for which there was only silence; known when `batches` has ended."""


class Reader(Protocol):
    """`pipeline.reader.KafkaReader`, as far as it is needed here."""

    def read(self, requests: list[ReadRequest]) -> Iterable[RangeRecords]: ...


LeavesOut = Callable[[pa.RecordBatch], npt.NDArray[np.bool_]]
"""Returns which records of a batch are left out."""
Under = Callable[[str], LeavesOut | None]
"""Returns what tells the records that a revision leaves out; None: its notes are believed, and Kafka is not asked."""


UnderAt = Callable[[str, int | None], LeavesOut | None]
"""Returns what a revision leaves out, by a horizon."""


def _believed(_: str, _horizon: int | None = None) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Omissions:
    """Tells which records are in no object."""

    of_manifest: LeavesOut | None = None
    """Judge of offsets of which nothing is noted; None: the manifest leaves out none."""
    of_revision: Under = _believed
    """Judge of ranges that are noted as left out."""
    of_replayed: UnderAt = _believed
    """Judge of ranges whose quarantine was replayed, by the revision that has put records there, and the horizon by
    which late ones were among them: they are no longer where it has put them, so they count, too."""


@dataclass(frozen=True, slots=True)
class _Note:
    span: Span
    records: int
    by: LeavesOut | None


def leaves_out(layout: TopicLayout, *, counts_refused: bool = False) -> LeavesOut:
    """Return what tells the records that a layout gives no path; `counts_refused`: or that of quarantine."""

    def of(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        found = [side for side in sides(batch, layout) if not (counts_refused and side.refused is not None)]
        stored = [side.rows.column("offset").to_numpy() for side in found]
        return ~np.isin(batch.column("offset").to_numpy(), np.concatenate([np.zeros(0, np.int64), *stored]))

    return of


def explain(examination: Examination, reader: Reader, omissions: Omissions | None = None) -> Iterator[Finding]:
    """Yield why no object has certain offsets: what members have noted, and what Kafka says.

    Raises nothing: a span that cannot be read stays `Kind.UNKNOWN`, with the reason.
    """
    omissions = Omissions() if omissions is None else omissions
    notes = list(_notes(examination, omissions))
    for missing in examination.missing:
        left = [missing.span]
        for note in notes:
            for span in common(left, [note.span]):
                yield from _noted(examination, missing, span, note, reader)
            left = minus(left, [note.span])
        for rest in left:
            known = common([rest], _in_kafka(examination))
            for span in minus([rest], known):
                yield _out_of_reach(examination, missing, span)
            for span in known:
                yield from _read(examination, missing, span, reader, omissions.of_manifest)


def _in_kafka(examination: Examination) -> list[Span]:
    readable = examination.evidence.readable
    return [readable.span] if readable else []


def _noted(
    examination: Examination, missing: MissingOffsets, span: Span, note: _Note, reader: Reader
) -> Iterator[Finding]:
    known = [] if note.by is None else common([span], _in_kafka(examination))
    for part in minus([span], known):
        told = f"no object, and it is noted that the {note.records:,} records there were left out"
        kind = Kind.LEFT_OUT if note.records else Kind.NO_RECORD
        yield _finding(examination, missing, kind, part, told if note.records else f"no object, and {NOTED_EMPTY}")
    for part in known:
        yield from _read(examination, missing, part, reader, note.by)


def _notes(examination: Examination, omissions: Omissions) -> Iterator[_Note]:
    """Yield what is noted; ranges of one revision that follow each other as one."""
    evidence = examination.evidence
    noted = [one for one in evidence.left_out if same_topic(one.topic_id, evidence.topic_id)]
    joined: list[LeftOutRange] = []
    for one in sorted(noted, key=lambda one: (one.range.start, one.generation)):
        last = joined[-1] if joined else None
        if last is not None and (last.range.end, last.revision) == (one.range.start, one.revision):
            whole = replace(last.range, end=one.range.end)
            joined[-1] = replace(last, range=whole, records=last.records + one.records)
        else:
            joined.append(one)
    for one in joined:
        yield _Note(one.range.span, one.records, omissions.of_revision(one.revision))
    for of_source in examination.replays.noted:
        replay, source = of_source.replay, of_source.replay.source
        if replay.settled and replay.deleted:
            span = source.range.span
            by = omissions.of_replayed(source.revision, examination.replays.horizon_of(source))
            yield _Note(span, replay.deleted, by)


def _out_of_reach(examination: Examination, missing: MissingOffsets, span: Span) -> Finding:
    if missing.within is None:
        return _finding(examination, missing, Kind.UNKNOWN, span, _beyond_reach(examination))
    message = (
        "when the range was stored, Kafka gave nothing there and no record batch showed why; it cannot be asked now"
    )
    return _finding(examination, missing, Kind.UNEXPLAINED, span, message)


def _beyond_reach(examination: Examination) -> str:
    kafka = examination.evidence.kafka
    if kafka is None:
        return "no object, and Kafka no longer has this partition, so nobody can tell whether it had records"
    if examination.evidence.readable is None and kafka.log_start < kafka.end:
        return "no object, and the topic was deleted and created again, so nobody can tell whether it had records"
    return "no object, and Kafka no longer has these offsets, so nobody can tell whether they had records"


def _read(
    examination: Examination, missing: MissingOffsets, span: Span, reader: Reader, left_out: LeavesOut | None
) -> Iterator[Finding]:
    wanted = Range(examination.evidence.partition, *span)
    whose = "no object" if missing.within is None else "its range was stored without them"
    try:
        first, unexplained, others = _first_record(reader, wanted, left_out)
    except RangeReadError as error:
        yield _finding(examination, missing, Kind.UNKNOWN, span, f"{whose}, and Kafka could not be read ({error})")
        return
    if first is not None:
        yield _finding(examination, missing, Kind.MISSING, span, _missing(missing, first))
        return
    silent_from = span[1] - unexplained
    if others:
        told = f"{whose}, and spec.keep or spec.types leaves out the {others:,} records that Kafka has there"
        yield _finding(examination, missing, Kind.LEFT_OUT, (span[0], silent_from), told)
    elif silent_from > span[0] and missing.within is None:
        yield _finding(examination, missing, Kind.NO_RECORD, (span[0], silent_from), f"{whose}, and {NOTHING_THERE}")
    if unexplained:
        yield _finding(examination, missing, Kind.UNEXPLAINED, (silent_from, span[1]), f"{whose}, and {SILENCE}")


def _missing(missing: MissingOffsets, first: Offset) -> str:
    if missing.within is not None:
        return f"its range was stored without them, but Kafka has records there, the first at offset {first}"
    message = f"no object of generation {missing.generation}, but Kafka has records there, the first at offset {first}"
    if missing.before_first:
        message += (
            "; startFrom is earliest, so objects were deleted, unless the group was moved here or its offset was set "
            "before it began"
        )
    return message


def _first_record(reader: Reader, wanted: Range, left_out: LeavesOut | None) -> tuple[Offset | None, int, int]:
    """Return the first offset with a record that belongs in an object, if there is one.

    Else also at how many offsets Kafka only says nothing, and how many records are left out.
    """
    unexplained = others = 0
    for read in reader.read([ReadRequest(wanted, ESTIMATE)]):
        for batch in read.batches():
            belong = np.ones(batch.num_rows, np.bool_) if left_out is None or not batch.num_rows else ~left_out(batch)
            if belong.any():
                return int(batch.column("offset")[int(np.argmax(belong))].as_py()), 0, 0
            others += batch.num_rows
        unexplained = read.unexplained
    return None, unexplained, others


def _finding(examination: Examination, missing: MissingOffsets, kind: Kind, span: Span, message: str) -> Finding:
    key = missing.within.key if missing.within is not None else None
    return Finding(kind, examination.evidence.partition, *span, message, key, missing.generation)
