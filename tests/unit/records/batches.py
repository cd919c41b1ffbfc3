"""Record batches for the tests of this folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.pipeline.splitting import sides
from logpersister.records.schema import FIELD, REASON, RECORDS, ROW

Column = Sequence[bytes | None]


def batch_of(
    timestamps: Sequence[int] | npt.NDArray[np.int64],
    offsets: Sequence[int] | npt.NDArray[np.int64] | None = None,
    *,
    keys: Column | None = None,
    values: Column | None = None,
) -> pa.RecordBatch:
    rows = len(timestamps)
    columns: list[pa.Array[Any]] = [
        pa.array(np.arange(rows) if offsets is None else np.asarray(offsets, np.int64)),
        pa.array(np.asarray(timestamps, np.int64)),
        pa.array([None] * rows if keys is None else keys, pa.binary()),
        pa.array([None] * rows if values is None else values, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RECORDS)


Placed = dict[int, tuple[str, str | None, str | None, Any]]
"""By offset the path of a record, why it was refused and where, and the row that was made of it."""


def placed(batch: pa.RecordBatch, layout: Any) -> Placed:
    """Return where a layout puts records."""
    found: Placed = {}
    for side in sides(batch, layout):
        columns: list[list[Any]] = [
            side.rows.column(name).to_pylist() if name in side.rows.schema.names else [None] * side.rows.num_rows
            for name in ("offset", REASON, FIELD, ROW)
        ]
        for index, offset, reason, field, row in zip(side.indices, *columns, strict=True):
            assert offset not in found
            found[offset] = side.paths[index], reason, field, row
    return found
