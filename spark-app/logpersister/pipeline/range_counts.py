"""Counts the records of one range, for its outcome (`work.RangeOutcome`)."""

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from logpersister.formats import binary
from logpersister.pipeline.event_times import EventTimes
from logpersister.pipeline.splitting import Side
from logpersister.pipeline.type_tally import TypeTally
from logpersister.ranges import NewestEvent, Offset
from logpersister.report.facts import LateRecords, TypeCounts
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
