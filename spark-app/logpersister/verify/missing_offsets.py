"""Asks Kafka whether it has records at offsets that are in no object."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.manifest.event_types import TypesSpec
from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.ranges import Offset, Range
from logpersister.records.type_names import DROPPED
from logpersister.verify.event_types import TypeOracle
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.spans import Span, common, minus
from logpersister.verify.tiling import Examination, MissingOffsets

NOTHING_THERE = "Kafka has no record there (compaction, aborted transactions or their markers)"
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
"""Returns which records of a batch are of types that are left out."""


def leaves_out(types: TypesSpec | None) -> LeavesOut | None:
    """Return what tells the records that a manifest leaves out; None: it leaves out none."""
    if types is None or all(one.action != "drop" for one in types.rules):
        return None
    oracle = TypeOracle(types)

    def of(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        found = oracle.find(batch)
        return np.array([place.rule == DROPPED for place in found.places])[found.indices]

    return of


def explain(examination: Examination, reader: Reader, left_out: LeavesOut | None = None) -> Iterator[Finding]:
    """Yield what Kafka says of each span that no object has; `left_out` tells records that belong in none.

    Raises nothing: a span that cannot be read stays `Kind.UNKNOWN`, with the reason.
    """
    readable = examination.evidence.readable
    for missing in examination.missing:
        known = common([missing.span], [(readable.start, readable.end)]) if readable else []
        for span in minus([missing.span], known):
            yield _out_of_reach(examination, missing, span)
        for span in known:
            yield from _read(examination, missing, span, reader, left_out)


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
        told = f"{whose}, and spec.types leaves out the {others:,} records that Kafka has there"
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
