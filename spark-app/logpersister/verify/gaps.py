"""Asks Kafka whether it has records at offsets that are in no object."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import pyarrow as pa

from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.ranges import Offset, Range
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.spans import Span, common, minus
from logpersister.verify.tiling import Examination, Gap

ESTIMATE = 64 * 1024
"""Bytes that are asked for first: one record is enough to know."""


class RangeRecords(Protocol):
    """One range being read."""

    def batches(self) -> Iterator[pa.RecordBatch]: ...


class Reader(Protocol):
    """`pipeline.reader.KafkaReader`, as far as it is needed here."""

    def read(self, requests: list[ReadRequest]) -> Iterable[RangeRecords]: ...


def explain(examination: Examination, reader: Reader) -> Iterator[Finding]:
    """Yield what each gap is. Raises nothing: what cannot be read stays `Kind.UNKNOWN`, with the reason."""
    readable = examination.evidence.readable
    for gap in examination.gaps:
        known = common([gap.span], [(readable.start, readable.end)]) if readable else []
        for span in minus([gap.span], known):
            yield _finding(examination, gap, Kind.UNKNOWN, span, _beyond_reach(examination))
        for span in known:
            yield _read(examination, gap, span, reader)


def _beyond_reach(examination: Examination) -> str:
    kafka = examination.evidence.kafka
    if kafka is None:
        return "no object, and Kafka has no such partition any more that could tell whether it held records"
    if examination.evidence.readable is None and kafka.log_start < kafka.end:
        return "no object, and the topic was deleted and made again, so Kafka cannot tell whether it held records"
    return "no object, and Kafka has no longer these offsets, so nothing can tell whether they held records"


def _read(examination: Examination, gap: Gap, span: Span, reader: Reader) -> Finding:
    wanted = Range(examination.evidence.partition, *span)
    try:
        first = _first_record(reader, wanted)
    except RangeReadError as error:
        return _finding(examination, gap, Kind.UNKNOWN, span, f"no object, and Kafka could not be read ({error})")
    if first is None:
        message = "no object, and Kafka has no record there (compaction, aborted transactions or their markers)"
        return _finding(examination, gap, Kind.NO_RECORD, span, message)
    message = f"no object of generation {gap.generation}, but Kafka has records there, the first at offset {first}"
    if gap.before_first:
        message += (
            "; startFrom is earliest, so objects were deleted, unless the group was moved here or its offset was set "
            "before it began"
        )
    return _finding(examination, gap, Kind.MISSING, span, message)


def _first_record(reader: Reader, wanted: Range) -> Offset | None:
    for read in reader.read([ReadRequest(wanted, ESTIMATE)]):
        for batch in read.batches():
            if batch.num_rows:
                return int(batch.column("offset")[0].as_py())
    return None


def _finding(examination: Examination, gap: Gap, kind: Kind, span: Span, message: str) -> Finding:
    return Finding(kind, examination.evidence.partition, *span, message, None, gap.generation)
