"""The types of records, for whole batches at once: where ``spec.types`` says that they stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import logpersister_native as native
from logpersister.manifest.blocks.event_types import TypesSpec
from logpersister.records.frames import types_of
from logpersister.records.type_names import Place, TypeNames
from logpersister.values.parser import Framing
from logpersister.values.reading.record_headers import last_header, with_ids

Indices = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Found:
    """The types of a batch."""

    places: Sequence[Place]
    """Types that occur; at least one."""
    indices: Indices
    """Row ``i`` belongs to ``places[indices[i]]``."""


class FindTypes(Protocol):
    """Finds the types of records. Picklable."""

    def find(self, batch: pa.RecordBatch) -> Found:
        """Return the type of each row of `batch` (columns of `records.schema`, with headers), which has some."""


@dataclass(frozen=True, slots=True)
class OneType:
    """Gives all records the one type of a topic without ``spec.types``, whatever they hold."""

    def find(self, batch: pa.RecordBatch) -> Found:
        return Found(_ONE, np.zeros(batch.num_rows, np.int32))


ONE_TYPE: Final = OneType()
_ONE: Final = (Place(0),)


@dataclass(frozen=True, slots=True)
class TypeFinder:
    """Finds types where a manifest says that they are."""

    names: TypeNames
    framing: Framing = "plain"
    """Header before documents that have the type in a field."""

    def find(self, batch: pa.RecordBatch) -> Found:
        values = types_at(self.names.types, batch, self.framing)
        encoded: Any = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        distinct = encoded.dictionary.to_pylist()
        indices = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        return Found([self.names.place(name) for name in (*distinct, None)], indices)


def types_at(types: TypesSpec, batch: pa.RecordBatch, framing: Framing = "plain") -> "pa.Array[Any]":
    """Return the type of each record, in bytes; null where it has none. `framing`: as `TypeFinder.framing`."""
    if types.header is not None:
        return last_header(batch, types.header.encode())
    if types.key:
        return batch.column("key")
    if types.frame is not None:
        return types_of(types.frame, cast("pa.BinaryArray", batch.column("value")))
    assert types.field is not None
    value = cast("pa.BinaryArray", with_ids(batch, framing, None).column("value"))
    return native.json_texts(value, types.field.split("."), framing=framing)
