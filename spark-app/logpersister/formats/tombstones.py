"""Null values (tombstones) in formats that have no null."""

from enum import StrEnum

import pyarrow as pa

from logpersister.formats import binary


class Tombstones(StrEnum):
    """The choices of the manifest."""

    SKIP = "skip"
    """The record is left out of the object."""

    EMPTY = "empty"
    """The record is written with an empty value, which no reader can then tell from a value that was empty."""

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return ``batch`` with a ``value`` column without nulls; the same batch when there are none."""
        value = binary.column(batch, "value")
        if value.null_count == 0:
            return batch
        if self is Tombstones.SKIP:
            return batch.filter(value.is_valid())
        index = batch.schema.get_field_index("value")
        return batch.set_column(index, batch.schema.field(index), binary.empty_for_null(value))
