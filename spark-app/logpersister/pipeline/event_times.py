"""The newest event of a range: what tells how far a partition is where folders are by a field of values.

A time that has not come yet when it is stored does not count: somebody's clock or unit of time is wrong, and the
partition would seem to have passed times of which it will have records.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from logpersister.manifest.spec import Spec
from logpersister.ranges import NewestEvent
from logpersister.records.record_times import RecordTimes
from logpersister.records.type_folders import TypeFolders, finished_folders


@dataclass(frozen=True, slots=True)
class EventTimes:
    """Times of records that count as events of a revision."""

    digest: str
    times: Mapping[int, RecordTimes]
    """Times by rule of ``spec.types``, for rules that have folders by time; without types by 0."""
    now: Callable[[], float] = time.time

    @classmethod
    def of(cls, spec: Spec) -> Self | None:
        """Return the event times of a topic; None: nothing depends on them."""
        found = finished_folders(spec)
        if found is None:
            return None
        finish, layout = found
        if not finish.watches_field(layout.field_name):
            return None
        if not isinstance(layout, TypeFolders):
            return cls(layout.field_digest, {0: RecordTimes(layout.field)})
        rules = [rule for rule, one in enumerate(layout.layouts) if one is not None]
        return cls(layout.field_digest, dict.fromkeys(rules, layout.times))

    def newest(self, records: pa.RecordBatch, rule: int = 0) -> NewestEvent | None:
        """Return the newest event of records of a rule with their rows; None: they have no time that counts."""
        of_rule = self.times.get(rule)
        if of_rule is None:
            return None
        times = of_rule.milliseconds(records)
        counting = times[(times >= 0) & (times <= int(self.now() * 1000))]
        return NewestEvent(self.digest, int(counting.max())) if len(counting) else None
