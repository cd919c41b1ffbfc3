"""What a range became, once all of it is written."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from logpersister.pipeline.event_times import EventTimes
from logpersister.pipeline.open_object import Finishing
from logpersister.pipeline.range_counts import RangeCounts
from logpersister.pipeline.work import RangeWork
from logpersister.records.escaping import QUARANTINE
from logpersister.report.facts import Quarantined, WrittenObject
from logpersister.storage.object_requests import StoredObject


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
