"""What a range became, once all of it is written."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from logpersister.formats import binary
from logpersister.pipeline.event_times import EventTimes
from logpersister.pipeline.open_object import Finishing
from logpersister.pipeline.splitting import Side
from logpersister.pipeline.type_tally import TypeTally
from logpersister.pipeline.work import RangeWork
from logpersister.ranges import NewestEvent, Offset
from logpersister.records.escaping import QUARANTINE
from logpersister.report.facts import LateRecords, Quarantined, TypeCounts, WrittenObject
from logpersister.storage.object_requests import StoredObject
from logpersister.values.reading.adjusted import by_reason


class RangeCounts:
    """Counts of the first pass over a range, which sees every record. Further passes add nothing."""

    def __init__(self, *, has_watermark: bool, event_times: EventTimes | None) -> None:
        """Start at zero. `has_watermark`: records may be late; `event_times`: finds the newest event, if wanted."""
        self.payload_bytes = 0
        self.records = 0
        self.refused = 0
        """Records that the parser refuses; late ones in quarantine are not among them."""
        self.first_refused: tuple[Offset, str] | None = None
        """Offset and reason of the first record that the parser refuses."""
        self.dropped = 0
        """Records that are in no side, because ``spec.keep`` or ``spec.types`` leaves them out."""
        self.adjusted: Counter[str] = Counter()
        """Adjusted values by reason."""
        self.late: LateRecords | None = None
        self.newest: NewestEvent | None = None
        self.tally = TypeTally()
        self._has_watermark = has_watermark
        self._event_times = event_times

    @property
    def types(self) -> Mapping[str, TypeCounts]:
        return self.tally.counts

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Count records as read from Kafka; they count as dropped until `add_side` gets them."""
        self.payload_bytes += _payload_bytes(batch)
        self.records += batch.num_rows
        self.dropped += batch.num_rows

    def add_side(self, side: Side) -> None:
        """Count the records of a side as kept."""
        records, late = side.rows.num_rows, side.late if self._has_watermark else 0
        self.dropped -= records
        if side.refused is not None:
            self.refused += records - late
            if late < records:
                first = side.first_refused, side.refused
                self.first_refused = first if self.first_refused is None else min(first, self.first_refused)
        if late:
            before = 0 if self.late is None else self.late.records
            self.late = LateRecords(before + late, "folder" if side.refused is None else "quarantine")
        if side.adjusted is not None:
            self.adjusted += by_reason(side.adjusted.counts())
        if self._event_times is not None and side.refused is None:
            newest = self._event_times.newest(side.rows, side.rule)
            self.newest = newest if self.newest is None else self.newest.followed_by(newest)


def _payload_bytes(batch: pa.RecordBatch) -> int:
    """Return the bytes of keys and values; the reader's batches have none behind a null."""
    ends = (binary.offsets(binary.column(batch, name)) for name in ("key", "value"))
    return sum(int(each[-1] - each[0]) for each in ends)


class RangeResults:
    """Counts and objects of one range, which its writer fills in."""

    def __init__(self, work: RangeWork, event_times: EventTimes | None = None) -> None:
        self.work = work
        self.counts = RangeCounts(has_watermark=work.horizon is not None, event_times=event_times)
        self.unexplained = 0
        """Offsets at the end of the range without records of which brokers only said nothing."""
        self._finishing: list[Finishing] = []
        self._started = time.monotonic()

    @property
    def ready(self) -> bool:
        """Whether `objects` would answer at once."""
        return all(finishing.stored.done() for finishing in self._finishing)

    def objects(self) -> tuple[WrittenObject, ...]:
        """Wait until every object is durable; raises the first storage error."""
        return tuple(finishing.result() for finishing in self._finishing)

    @property
    def paths(self) -> Sequence[str]:
        """Partition paths that have an object."""
        return [finishing.path for finishing in self._finishing]

    def table_files(self) -> Iterator[tuple[str, StoredObject, Mapping[str, Any]]]:
        """Yield path, object and `ParquetEncoder.table_facts` of each file of a table; waits as `objects` does."""
        for finishing in self._finishing:
            if finishing.table_facts is not None:
                yield finishing.path, finishing.stored.result(), finishing.table_facts

    def quarantined(self) -> Quarantined | None:
        """Return what the parser refused (the range's dead letters); waits, and raises, as `objects` does."""
        finishing = next((one for one in self._finishing if one.path == QUARANTINE), None)
        if finishing is None or self.counts.first_refused is None:  # compaction may take a record between two passes
            return None
        stored = finishing.result()
        records = stored.records if self.counts.late is None else self.counts.refused  # late ones may be in it, too
        return Quarantined(stored.key, records, *self.counts.first_refused)

    @property
    def is_left_out(self) -> bool:
        """Whether nothing is stored because all records are left out."""
        return self.counts.dropped > 0 and not self._finishing

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started
