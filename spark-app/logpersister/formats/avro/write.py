"""Format ``avro``: container files of rows of ``spec.value``, or of values as they are, with Kafka's own fields.

docs/formats.md says what each type becomes; the encoder of rows is native (spark-app/native/src/datums).
"""

from collections.abc import Iterator
from typing import Final, cast

import numpy as np
import pyarrow as pa

import logpersister_native as native
from logpersister.formats import binary
from logpersister.formats.avro.container import Blocks, header
from logpersister.formats.avro.schema import schema_text
from logpersister.formats.avro.settings import AvroFileSpec
from logpersister.formats.base import Bytes, ObjectIdentity, sync_marker
from logpersister.formats.columnar import ColumnarFormat
from logpersister.formats.file_columns import Columns

RULES: Final = 1
"""Raise it when an object gets another extension, or a record becomes other bytes before they are compressed."""


class AvroFormat(ColumnarFormat[AvroFileSpec]):
    """`formats.base.Format` for Avro."""

    extension = ".avro"
    content_type = "application/avro"
    held_back = 1 << 20  # the rows of a block, the same compressed, and the state of a compressor

    def encoder(self, identity: ObjectIdentity) -> "AvroEncoder":
        return AvroEncoder(self.settings, identity, self.columns_at(identity.path))


class AvroEncoder:
    """`formats.base.Encoder` for Avro. Exhaust what a call returns before the next call."""

    def __init__(self, settings: AvroFileSpec, identity: ObjectIdentity, columns: Columns) -> None:
        self._identity = identity
        self._columns = columns
        marker = sync_marker(identity, b"lp-avro")
        self._blocks = Blocks(settings.compression, marker)
        self._header = header(schema_text(columns.schema), settings.compression, marker)

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        yield from self._begin()
        for part in binary.slices(batch):
            kept = self._columns.kept(part)
            rows, ends = native.avro_datums(self._columns.rows(kept, self._identity))
            sizes = np.diff(cast("binary.Integers", ends.to_numpy()), prepend=0)
            yield from self._blocks.add(rows, sizes)

    def finish(self) -> Iterator[Bytes]:
        yield from self._begin()
        yield from self._blocks.rest()

    def _begin(self) -> Iterator[Bytes]:
        if self._header:
            yield self._header
            self._header = b""
