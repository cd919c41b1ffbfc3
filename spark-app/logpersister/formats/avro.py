"""Format ``avro``: container files of rows of ``spec.schema``, or of values as they are, with Kafka's own fields.

docs/formats.md says what each type becomes; the encoder of rows is native (spark-app/native/src/datums).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import pyarrow as pa

import logpersister_native as native
from logpersister.formats import binary
from logpersister.formats.avro_container import BlockCompression, Blocks, header
from logpersister.formats.avro_schema import schema_text
from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.file_columns import Columns, columns_of
from logpersister.formats.sync_marker import sync_marker

RULES: Final = 1
"""Raise it when an object gets another extension, or a record becomes other bytes before they are compressed."""


@dataclass(frozen=True, slots=True)
class AvroOptions:
    """The settings of the format."""

    compression: BlockCompression = BlockCompression.DEFLATE
    kafka_columns: tuple[str, ...] = ()
    keeps_tombstones: bool = False
    """Whether a record with a null value is a row of nulls, or left out."""
    schema: pa.Schema | None = None
    """Columns of rows (`records.columns`); None: values as they are."""


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """`formats.base.Format` for Avro."""

    options: AvroOptions

    @property
    def extension(self) -> str:
        return ".avro"

    @property
    def content_type(self) -> str:
        return "application/avro"

    @property
    def content_encoding(self) -> str | None:
        return None

    @property
    def wants_headers(self) -> bool:
        return "headers" in self.options.kafka_columns

    @property
    def held_back(self) -> int:
        return 1 << 20  # the rows of a block, the same compressed, and the state of a compressor

    def encoder(self, identity: ObjectIdentity) -> "AvroEncoder":
        return AvroEncoder(self.options, identity, self.columns_at(identity.path))

    def columns_at(self, path: str) -> Columns:
        """Return the columns of the files of a partition path."""
        options = self.options
        return columns_of(path, options.schema, options.kafka_columns, keeps_tombstones=options.keeps_tombstones)


class AvroEncoder:
    """`formats.base.Encoder` for Avro. Exhaust what a call returns before the next call."""

    def __init__(self, options: AvroOptions, identity: ObjectIdentity, columns: Columns) -> None:
        self._identity = identity
        self._columns = columns
        marker = sync_marker(identity, b"lp-avro")
        self._blocks = Blocks(options.compression, marker)
        self._header = header(schema_text(columns.schema), options.compression, marker)

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
