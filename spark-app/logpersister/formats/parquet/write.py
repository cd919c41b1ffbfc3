"""Format ``parquet``: rows of ``spec.value``, or values as they are, with Kafka's own fields by choice.

The native module writes the files (docs/design/parquet.md). Memory: of each open object, pages of one row group wait,
compressed, or its rows where they are sorted; docs/formats.md has the figures.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

import logpersister_native as native
from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.columnar import ColumnarFormat
from logpersister.formats.cuts import payload_sizes
from logpersister.formats.file_columns import Columns, quarantine_columns
from logpersister.formats.parquet.field_ids import with_field_ids, with_some_field_ids
from logpersister.formats.parquet.settings import ParquetSpec, SortColumnSpec
from logpersister.formats.parquet.sorted_groups import SortedGroups
from logpersister.formats.parquet.statistics import column_statistics, split_offsets
from logpersister.records.escaping import QUARANTINE

RULES: Final = 2
"""Raise it when an object gets another extension, records become other columns, rows or row groups, or our writer gives
other bytes (`CREATED_BY` in the native module)."""

ZSTD_LEVEL: Final = 1
"""Not zstd's own default, 3, which takes half as long again: pages of typed columns are as small with both, texts often
smaller (docs/design/parquet.md)."""

_SORTED_TIMES: Final = 3
"""Memory of a sorted object, in row groups: the rows that wait, and a share of the copy that is sorted."""


@dataclass(frozen=True)
class ParquetFormat(ColumnarFormat[ParquetSpec]):
    """`formats.base.Format` for Parquet."""

    field_ids: Mapping[str, int] | None = None
    """Numbers by which a table knows the columns (`formats.parquet.field_ids`); None: they are in no table."""
    refuses_tombstones: bool = False
    """Whether records with a null value can be in quarantine, which then keeps them."""

    extension = ".parquet"
    content_type = "application/vnd.apache.parquet"

    @property
    def held_back(self) -> int:
        times = _SORTED_TIMES if self.settings.sort_by else 1
        filters = sum(_filter_bytes(one.distinct) for one in self.settings.bloom_filters)
        return self.settings.row_group_bytes * times + filters

    def encoder(self, identity: ObjectIdentity) -> "ParquetEncoder":
        columns = self.columns_at(identity.path)
        if identity.path == QUARANTINE:  # whose columns are in no table
            return ParquetEncoder(self.settings, identity, columns, columns.schema, None, self.order_at(QUARANTINE))
        order = self.settings.sort_by
        return ParquetEncoder(self.settings, identity, columns, self._schema, self.field_ids, order)

    def columns_at(self, path: str) -> Columns:
        """Return the columns of the files of a partition path."""
        return self._of_quarantine if path == QUARANTINE else self._columns

    def order_at(self, path: str) -> tuple[SortColumnSpec, ...]:
        """Return by what the rows of each row group are sorted."""
        return () if path == QUARANTINE else self.settings.sort_by  # a replay reads it in the order of offsets

    @cached_property
    def _columns(self) -> Columns:
        return super().columns_at("")

    @cached_property
    def _schema(self) -> pa.Schema:
        """The columns with their numbers, in a table or without one."""
        schema = self._columns.schema
        if self.field_ids is None:
            return with_some_field_ids(schema, self.settings.own_ids)
        return with_field_ids(schema, self.field_ids)

    @cached_property
    def _of_quarantine(self) -> Columns:
        keeps = self.settings.keeps_tombstones or self.refuses_tombstones
        return quarantine_columns(self.kafka_columns, nullable=self.refuses_tombstones, keeps_tombstones=keeps)


def _filter_bytes(distinct: int) -> int:
    """Return what a Bloom filter takes, as ``bloom.rs`` makes it: ten bits for a value, and a power of two."""
    return 1 << math.ceil(math.log2(max(32, distinct * 10 / 8)))


class ParquetEncoder:
    """`formats.base.Encoder` for Parquet. Exhaust what a call returns before the next call."""

    def __init__(
        self,
        settings: ParquetSpec,
        identity: ObjectIdentity,
        columns: Columns,
        schema: pa.Schema,
        ids: Mapping[str, int] | None,
        order: tuple[SortColumnSpec, ...],
    ) -> None:
        """Begin a file.

        Args:
            settings: of the format.
            identity: of the object.
            columns: how records become rows.
            schema: its columns, with their `ids`.
            ids: by which a table knows them; None: it is no file of a table.
            order: of the rows of each row group.
        """
        self._identity = identity
        self._columns = columns
        self._schema, self._ids = schema, ids
        self._groups = SortedGroups(order, settings.row_group_bytes) if order else None
        self._end = b""
        self._writer = native.ParquetWriter(
            self._schema,
            compression=settings.compression,
            zstd_level=ZSTD_LEVEL,
            row_group_bytes=settings.row_group_bytes,
            page_bytes=settings.page_bytes,
            page_index=settings.page_index,
            without_dictionary=settings.without_dictionary,
            bloom_filters={one.field: one.distinct for one in settings.bloom_filters},
            sorted_by=[(one.field, one.descending, one.nulls_first) for one in order],
        )

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        batch = self._columns.kept(batch)
        rows = self._columns.rows(batch, self._identity)
        if self._groups is not None:
            yield from starmap(self._writer.write, self._groups.add(rows, payload_sizes(batch)))
        elif ready := self._writer.write(rows, pa.array(payload_sizes(batch), pa.int64())):
            yield ready

    def finish(self) -> Iterator[Bytes]:
        if self._groups is not None:
            yield from starmap(self._writer.write, self._groups.rest())
        self._end = self._writer.finish()
        yield self._end

    def table_facts(self) -> Mapping[str, Any] | None:
        """Return what a table says of the finished file beside its name and size; None: it is no file of a table."""
        if self._ids is None:
            return None
        footer = pq.read_metadata(pa.BufferReader(self._end))  # whose place in a file is its end
        return {
            "records": footer.num_rows,
            "columns": column_statistics(footer, self._schema, self._ids),
            "splits": split_offsets(footer),
        }
