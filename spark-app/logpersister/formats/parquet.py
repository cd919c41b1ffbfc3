"""Format ``parquet``: rows of ``spec.schema``, or values as they are, with Kafka's own fields by choice.

Memory: one row group of each open object waits as Arrow, because pyarrow writes a row group at once. docs/formats.md
has the figures.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, Final, cast

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.file_columns import Columns, columns_of
from logpersister.formats.row_groups import RowGroups, payload_sizes
from logpersister.formats.tombstones import Tombstones
from logpersister.records.columns import without_notation

RULES: Final = 1
"""Raise it when an object gets another extension, or records become other columns, rows or row groups."""

_LEVELS: Final = {"zstd": 3, "gzip": 6}


class PageCompression(StrEnum):
    """Compression of each page of a column."""

    ZSTD = "zstd"
    SNAPPY = "snappy"
    GZIP = "gzip"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """The settings of the format."""

    compression: PageCompression = PageCompression.ZSTD
    kafka_columns: tuple[str, ...] = ()
    row_group_bytes: int = 32 << 20
    """Keys and values that make a row group."""
    keeps_tombstones: bool = False
    """Whether a record with a null value is a row of nulls, or left out."""
    schema: pa.Schema | None = None
    """Columns of rows (`records.columns`); None: values as they are."""


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """`formats.base.Format` for Parquet."""

    options: ParquetOptions

    @property
    def extension(self) -> str:
        return ".parquet"

    @property
    def content_type(self) -> str:
        return "application/vnd.apache.parquet"

    @property
    def content_encoding(self) -> str | None:
        return None

    @property
    def wants_headers(self) -> bool:
        return "headers" in self.options.kafka_columns

    @property
    def held_back(self) -> int:
        return self.options.row_group_bytes

    def encoder(self, identity: ObjectIdentity) -> "ParquetEncoder":
        options = self.options
        schema = None if options.schema is None else without_notation(options.schema)
        columns = columns_of(identity.path, schema, options.kafka_columns, keeps_tombstones=options.keeps_tombstones)
        return ParquetEncoder(options, identity, columns)


class ParquetEncoder:
    """`formats.base.Encoder` for Parquet. Exhaust what a call returns before the next call."""

    def __init__(self, options: ParquetOptions, identity: ObjectIdentity, columns: Columns) -> None:
        self._keeps_tombstones = options.keeps_tombstones
        self._identity = identity
        self._columns = columns
        self._groups = RowGroups(options.row_group_bytes)
        self._sink = _Sink()
        # No schema of Arrow beside that of Parquet: readers see what all readers see. Page checksums let
        # `verify --deep` find damage where Kafka has the records no more.
        self._writer = pq.ParquetWriter(
            cast("IO[bytes]", self._sink),
            columns.schema,
            compression=options.compression.value,
            compression_level=_LEVELS.get(options.compression),
            version="2.6",
            store_schema=False,
            write_page_checksum=True,
        )

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        if not self._keeps_tombstones:
            batch = Tombstones.SKIP.apply(batch)
        return self._written(self._groups.add(self._columns.waiting(batch), payload_sizes(batch)))

    def finish(self) -> Iterator[Bytes]:
        yield from self._written(self._groups.rest())
        self._writer.close()
        yield from self._sink.taken()

    def _written(self, groups: Iterable[pa.Table]) -> Iterator[Bytes]:
        for group in groups:
            self._writer.write_table(self._columns.written(group, self._identity), row_group_size=group.num_rows)
            yield from self._sink.taken()


class _Sink:
    """A file that hands over what was written to it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: what was written can be taken."""

    def close(self) -> None:
        self.closed = True

    def taken(self) -> list[bytes]:
        """Return what was written since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces
