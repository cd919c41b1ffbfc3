"""Null values (tombstones) in formats that have no null."""

from typing import Literal

import pyarrow as pa

from logpersister.formats import binary


def without_nulls(batch: pa.RecordBatch, tombstones: Literal["skip", "empty"]) -> pa.RecordBatch:
    """Return a batch whose values are not null; the same batch if none is.

    `skip` leaves records with a null value out. `empty` gives them an empty value.
    """
    value = binary.column(batch, "value")
    if value.null_count == 0:
        return batch
    if tombstones == "skip":
        return batch.filter(value.is_valid())
    index = batch.schema.get_field_index("value")
    return batch.set_column(index, batch.schema.field(index), binary.empty_for_null(value))
