"""The newest event of a range: what tells how far a partition is where folders are by a field of values.

A time that has not come yet when it is stored does not count: somebody's clock or unit of time is wrong, and the
partition would seem to have passed times of which it will have records.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from logpersister.manifest.spec import Spec
from logpersister.ranges import NewestEvent
from logpersister.records.field_paths import milliseconds_at
from logpersister.records.time_folders import time_folders


@dataclass(frozen=True, slots=True)
class EventTimes:
    """Which field says when the records of a revision happened."""

    digest: str
    path: tuple[str, ...]
    """In the rows."""
    now: Callable[[], float] = time.time

    @classmethod
    def of(cls, spec: Spec) -> Self | None:
        """Return that of a topic; None: nobody asks for it."""
        layout = None if spec.finish is None else time_folders(spec.output.partition_by)
        if spec.finish is None or layout is None or not spec.finish.watches_field(layout.field):
            return None
        return cls(layout.field_digest, layout.field)

    def newest(self, rows: pa.RecordBatch) -> NewestEvent | None:
        """Return the newest event of records with their rows; None: they have no time that counts."""
        times = milliseconds_at(rows, self.path)
        counting = times[(times >= 0) & (times <= int(self.now() * 1000))]
        return NewestEvent(self.digest, int(counting.max())) if len(counting) else None
