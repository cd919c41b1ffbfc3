"""Record batches for the tests of this folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.records.schema import RECORDS

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
