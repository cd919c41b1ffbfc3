"""The ids of schemas in the headers of values."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import logpersister_native as native
from logpersister.values.parser import Framing

Places = npt.NDArray[np.int32]


def ids_of(values: pa.BinaryArray, framing: Framing) -> tuple[list[int], Places]:
    """Return each id once, and for each value the place of its own; -1: it has no header."""
    keys, indices = native.schema_keys(values, framing=framing, inside="nothing")
    places = indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return [schema_id for schema_id, _, _ in keys], places


def id_of(value: bytes, framing: Framing) -> int | None:
    """Return the id in one value; None: it has no header."""
    ids, _ = ids_of(pa.array([value], pa.binary()), framing)
    return ids[0] if ids else None
