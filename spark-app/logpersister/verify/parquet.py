"""What a Parquet file holds, as items that can be compared with records; docs/formats.md says what it should."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, Any, Final, Self, cast

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.manifest.format_settings import ParquetSpec
from logpersister.ranges import Offset
from logpersister.records.columns import map_of, row_columns
from logpersister.verify.parquet_footer import require_footer
from logpersister.verify.row_items import Item, RowItems
from logpersister.verify.row_sorting import RowSorting
from logpersister.verify.streams import ContentError

BATCH_ROWS: Final = 1024
IN_MEMORY_BYTES: Final = 4 << 20
"""A larger object is put in a temporary file: what is at its end says where everything else is."""


def plain(array: "pa.Array[Any]") -> "pa.Array[Any]":
    """Return an array with integers in place of dates, times and timestamps, at every depth."""
    return array.cast(plain_type(array.type))


def plain_type(type_: Any) -> pa.DataType:
    """Return a type with integers in place of dates, times and timestamps."""
    if pa.types.is_timestamp(type_) or pa.types.is_time64(type_):
        return pa.int64()
    if pa.types.is_time32(type_) or pa.types.is_date32(type_):
        return pa.int32()
    if pa.types.is_struct(type_):
        return pa.struct([_plain_field(field) for field in type_])
    if pa.types.is_map(type_):
        return map_of(type_.key_field, _plain_field(type_.item_field))
    if pa.types.is_list(type_):
        return pa.list_(_plain_field(type_.value_field))
    found: pa.DataType = type_
    return found


def _plain_field(field: "pa.Field[Any]") -> "pa.Field[Any]":
    return pa.field(field.name, plain_type(field.type))  # nothing is required: it is read, not judged


@dataclass(frozen=True)
class ParquetContent:
    """Rows of an object."""

    rows: RowItems
    may_split_values: bool = False
    sorting: RowSorting | None = None
    ids: Mapping[str, int] = field(default_factory=dict)
    """Of columns, as they stand in the manifest."""

    @classmethod
    def of(cls, rows: RowItems, settings: ParquetSpec) -> Self:
        """Return how to read what these settings write."""
        ids = {one.field: one.id for one in settings.field_ids}
        return cls(rows, sorting=RowSorting.of(settings.sort_by, rows.columns), ids=ids)

    @property
    def skips_tombstones(self) -> bool:
        return self.rows.skips_tombstones

    def stored(self, pieces: Iterable[bytes]) -> Iterator[list[Item]]:
        names = [name for name in self.rows.columns if name not in self.rows.told]
        with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES) as file:
            for piece in pieces:
                file.write(piece)
            for batches in self._batches(cast("IO[bytes]", file)):
                items: list[Item] = []
                for batch in batches:
                    columns = [plain(self._as_declared(name, batch.column(name))).to_pylist() for name in names]
                    items += zip(*columns, strict=True)
                yield items

    def _batches(self, file: IO[bytes]) -> Iterator[Iterable[pa.RecordBatch]]:
        """Yield what a file holds. Raises `ContentError` for one that is damaged or has other columns."""
        file.seek(0)
        with damage_as_content_error():
            opened = pq.ParquetFile(file, page_checksum_verification=True)
            if opened.schema_arrow.names != self.rows.columns:
                columns = ", ".join(self.rows.columns)
                raise ContentError(f"its columns are {', '.join(opened.schema_arrow.names)}, not {columns}")
            require_footer(opened, self.sorting, self.ids)
            if self.sorting is None:
                yield from ([batch] for batch in opened.iter_batches(BATCH_ROWS))
            else:
                for group in range(opened.num_row_groups):
                    yield opened.iter_batches(BATCH_ROWS, row_groups=[group])

    def expectation(self) -> Callable[[pa.RecordBatch], list[Item]]:
        return self.rows.expectation()

    def values(self, items: Sequence[Item]) -> list[bytes] | None:
        return self.rows.values(items)

    def offsets(self, items: Sequence[Item]) -> list[Offset] | None:
        return self.rows.offsets(items)

    def _as_declared(self, name: str, column: "pa.Array[Any]") -> "pa.Array[Any]":
        """Return a column in the units of its schema: Parquet has no seconds, and files milliseconds instead."""
        wanted = self._types.get(name)
        if wanted is None or column.type == wanted:
            return column
        try:
            return column.cast(wanted)
        except pa.ArrowException as error:
            raise ContentError(f"its column {name} holds what is no {wanted} ({error})") from None

    @cached_property
    def _types(self) -> Mapping[str, pa.DataType]:
        oracle = self.rows.oracle
        return {} if oracle is None else {field.name: field.type for field in row_columns(oracle.schema)}


@contextmanager
def damage_as_content_error() -> Iterator[None]:
    """Turn what pyarrow raises while it reads a damaged file into `ContentError`."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ContentError(f"it is no whole Parquet file ({reason})") from None
