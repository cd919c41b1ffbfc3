"""Times of records, which folders by date are about, for whole batches at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.manifest.blocks.finish import time_field
from logpersister.manifest.blocks.frame import FrameSpec, NumberAt
from logpersister.manifest.blocks.partition_rule import PartitionRule, TimeField
from logpersister.records.field_times import times_at
from logpersister.records.frames import timestamps_of

Milliseconds = npt.NDArray[np.int64]
"""Since 1970; a negative one is none."""


@dataclass(frozen=True, slots=True)
class RecordTimes:
    """Source of the records' times; by default Kafka's timestamp."""

    field: TimeField | None = None
    """Field of the rows that has the time."""
    in_frame: NumberAt | None = None
    """Place of the timestamp in frames."""

    @classmethod
    def of(cls, partition_by: Sequence[PartitionRule], frame: FrameSpec | None) -> Self:
        """Return the times of the records of a topic, or of a type."""
        field = time_field(partition_by)
        if field is not None:
            return cls(field=field)
        return cls(in_frame=None if frame is None else frame.timestamp)

    @property
    def name(self) -> str:
        """What stands for it, in a text; empty: the time of Kafka."""
        return "<frame>" if self.in_frame is not None else str(self.field or "")

    def milliseconds(self, records: pa.RecordBatch) -> Milliseconds:
        """Return the time of each record (columns of `records.schema`, with their rows)."""
        if self.field is not None:
            return times_at(records, self.field).milliseconds
        if self.in_frame is not None:
            return timestamps_of(self.in_frame, cast("pa.BinaryArray", records.column("value")))
        found: Any = records.column("timestamp").to_numpy(zero_copy_only=False)
        return cast("Milliseconds", found)


OF_KAFKA: Final = RecordTimes()
