"""Format ``parquet``: rows of ``spec.schema``, or values as they are, with Kafka's own fields by choice.

Memory: one row group of each open object waits as Arrow, because pyarrow writes a row group at once. docs/formats.md
has the figures.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, Any, Final, cast

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.field_ids import with_field_ids
from logpersister.formats.file_columns import Columns, columns_of, quarantine_columns
from logpersister.formats.parquet_statistics import column_statistics, split_offsets
from logpersister.formats.row_groups import RowGroups, payload_sizes
from logpersister.formats.sink import Sink
from logpersister.formats.tombstones import Tombstones
from logpersister.records.columns import without_notation
from logpersister.records.escaping import QUARANTINE

RULES: Final = 1
"""Raise it when an object gets another extension, or records become other columns, rows or row groups."""

_LEVELS: Final = {"zstd": 3, "gzip": 6}
_FALSE_POSITIVES: Final = 0.01
"""Of the values that a row group does not have: the share of which its Bloom filter says that it may."""


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
    page_bytes: int = 1 << 20
    page_index: bool = False
    without_dictionary: tuple[str, ...] = ()
    """Paths of fields below which no column has a dictionary."""
    bloom_filters: tuple[tuple[str, int], ...] = ()
    """Paths of columns, and for how many different values of a row group their filters are made."""
    keeps_tombstones: bool = False
    """Whether a record with a null value is a row of nulls, or left out."""
    schema: pa.Schema | None = None
    """Columns of rows (`records.columns`); None: values as they are."""
    field_ids: Mapping[str, int] | None = None
    """By which numbers a table knows the columns (`formats.field_ids`); None: they have none."""
    refuses_tombstones: bool = False
    """Whether records with a null value can be in quarantine, which then keeps them."""


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
        if options.refuses_tombstones and identity.path == QUARANTINE:
            columns = quarantine_columns(options.kafka_columns, nullable=True)
        else:
            kept = options.keeps_tombstones
            columns = columns_of(identity.path, schema, options.kafka_columns, keeps_tombstones=kept)
        return ParquetEncoder(options, identity, columns)


def _of_columns(options: ParquetOptions, schema: pa.Schema) -> dict[str, Any]:
    """Return the settings of single columns. Files of quarantine have others than those that options name."""
    paths = [path for field in schema for path in leaf_paths(field)]
    plain = [f"{path}." for path in options.without_dictionary]
    filters = {path: {"ndv": distinct, "fpp": _FALSE_POSITIVES} for path, distinct in options.bloom_filters}
    return {
        "use_dictionary": [one for one in paths if not f"{one}.".startswith(tuple(plain))] if plain else True,
        "bloom_filter_options": {path: filters[path] for path in paths if path in filters} or None,
    }


def leaf_paths(field: "pa.Field[Any]", around: str = "") -> Iterator[str]:
    """Yield the names that Parquet gives to the columns of a field."""
    path = around + field.name
    if pa.types.is_struct(field.type):
        for one in field.type:
            yield from leaf_paths(one, f"{path}.")
    elif pa.types.is_list(field.type):
        yield from leaf_paths(cast("Any", field.type).value_field.with_name("element"), f"{path}.list.")
    elif pa.types.is_map(field.type):
        yield f"{path}.key_value.key"
        yield from leaf_paths(cast("Any", field.type).item_field.with_name("value"), f"{path}.key_value.")
    else:
        yield path


class ParquetEncoder:
    """`formats.base.Encoder` for Parquet. Exhaust what a call returns before the next call."""

    def __init__(self, options: ParquetOptions, identity: ObjectIdentity, columns: Columns) -> None:
        self._keeps_tombstones = options.keeps_tombstones or options.refuses_tombstones
        self._identity = identity
        self._columns = columns
        self._groups = RowGroups(options.row_group_bytes)
        self._sink = Sink()
        is_quarantine = identity.path == QUARANTINE  # whose columns are in no table
        self._ids = None if is_quarantine else options.field_ids
        self._schema = columns.schema if self._ids is None else with_field_ids(columns.schema, self._ids)
        self._footer: list[pq.FileMetaData] = []
        # No schema of Arrow beside that of Parquet: readers see what all readers see. Page checksums let
        # `verify --deep` find damage where Kafka has the records no more.
        self._writer = pq.ParquetWriter(
            cast("IO[bytes]", self._sink),
            self._schema,
            metadata_collector=self._footer,
            compression=options.compression.value,
            compression_level=_LEVELS.get(options.compression),
            version="2.6",
            store_schema=False,
            write_page_checksum=True,
            data_page_size=options.page_bytes,
            write_page_index=options.page_index,
            **_of_columns(options, columns.schema),
        )

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        if not self._keeps_tombstones:
            batch = Tombstones.SKIP.apply(batch)
        return self._written(self._groups.add(self._columns.waiting(batch), payload_sizes(batch)))

    def finish(self) -> Iterator[Bytes]:
        yield from self._written(self._groups.rest())
        self._writer.close()
        yield from self._sink.taken()

    def table_facts(self) -> Mapping[str, Any] | None:
        """Return what a table says of the finished file beside its name and size; None: it is no file of a table."""
        if self._ids is None:
            return None
        footer = self._footer[0]
        return {
            "records": footer.num_rows,
            "columns": column_statistics(footer, self._schema, self._ids),
            "splits": split_offsets(footer),
        }

    def _written(self, groups: Iterable[pa.Table]) -> Iterator[Bytes]:
        for group in groups:
            table = self._columns.written(group, self._identity)
            self._writer.write_table(
                table if self._ids is None else table.cast(self._schema), row_group_size=group.num_rows
            )
            yield from self._sink.taken()
