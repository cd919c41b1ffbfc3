"""Headers of records, for whole batches at once; among them those in which Confluent's serializers may name schemas.

Such a header has what else stands before the value: a zero byte and the id, or a one and the GUID of the schema, and
for protobuf the indexes of the message. Parsers get it there, with the id in place of the GUID.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logpersister.values.parser import Framing
from logpersister.values.reading.parsers import Parsed, Parser
from logpersister.values.reading.writers import Writers

OF_VALUES: Final = b"__value_schema_id"
OF_KEYS: Final = b"__key_schema_id"
_ID, _GUID = 1 + 4, 1 + 16
"""Bytes of a header."""
_FOUND: Final = "schema_headers"
"""Column of batches in which the headers that name schemas of values were found already."""


def last_header(batch: pa.RecordBatch, name: bytes) -> "pa.Array[Any]":
    """Return the value of the last header of a name that each record has."""
    headers: Any = batch.column("headers")
    items = headers.flatten()
    matching: Any = pc.equal(items.field("key"), pa.scalar(name, pa.binary()))
    places = np.flatnonzero(matching.to_numpy(zero_copy_only=False))
    rows = headers.value_parent_indices().to_numpy(zero_copy_only=False)[places]
    last = np.full(batch.num_rows, -1, np.int64)
    last[rows] = places  # of places that come twice the last one stays
    return cast("pa.Array[Any]", items.field("value").take(pa.array(last, pa.int64(), mask=last < 0)))


def with_ids(
    batch: pa.RecordBatch, framing: Framing, writers: Writers | None, header: bytes = OF_VALUES
) -> pa.RecordBatch:
    """Return a batch whose values have before them what a header of their record says of their schema.

    Args:
        batch: has the headers, or no record has any.
        framing: of the values; only ``confluent`` allows it.
        writers: knows the ids of GUIDs; may raise. None: ids do not matter.
        header: its name.
    """
    if framing != "confluent" or "headers" not in batch.schema.names:
        return batch
    is_found = header == OF_VALUES and _FOUND in batch.schema.names
    encoded: Any = batch.column(_FOUND) if is_found else _encoded(batch, header)
    if encoded.null_count == len(encoded):
        return batch
    begins = pa.array(_begins(encoded.dictionary.to_pylist(), writers), pa.binary())
    of_rows = begins.take(encoded.indices).fill_null(b"")
    joined = cast("Any", pc).binary_join_element_wise(of_rows, batch.column("value"), pa.scalar(b"", pa.binary()))
    place = batch.schema.get_field_index("value")
    return batch.set_column(place, batch.schema.field(place), joined)


def finding_once(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with headers for which `with_ids` need not look for those of values again."""
    return batch.append_column(_FOUND, _encoded(batch, OF_VALUES))


def as_read(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch as it was before `finding_once`."""
    return batch.drop_columns([_FOUND]) if _FOUND in batch.schema.names else batch


def _encoded(batch: pa.RecordBatch, header: bytes) -> Any:
    """Return the value of a header of each record, as places in a dictionary; of no type where no record has it."""
    found = last_header(batch, header)
    return pa.nulls(len(found)) if found.null_count == len(found) else found.dictionary_encode()


def _begins(headers: Sequence[bytes], writers: Writers | None) -> list[bytes]:
    """Return what stands before values, of each header; nothing where it is none that names a schema."""
    guids = [_guid(one) for one in headers]
    wanted = {one for one in guids if one is not None}
    ids = dict.fromkeys(wanted, 0) if writers is None else writers.ids(wanted)
    return [
        (one if one[:1] == b"\0" and len(one) >= _ID else b"")
        if guid is None
        else b"\0" + ids[guid].to_bytes(4, "big") + one[_GUID:]
        for one, guid in zip(headers, guids, strict=True)
    ]


def _guid(header: bytes) -> int | None:
    return int.from_bytes(header[1:_GUID], "big") if header[:1] == b"\1" and len(header) >= _GUID else None


@dataclass(frozen=True, slots=True)
class IdsInHeaders:
    """A parser of values whose ids may stand in headers of records."""

    inner: Parser
    writers: Writers | None
    header: bytes

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        return self.inner.parse(with_ids(batch, "confluent", self.writers, self.header))
