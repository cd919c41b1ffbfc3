"""Row groups of sorted files: which rows they have, and in which order; docs/formats.md states it.

Memory: the rows of one group wait, and for a moment a copy of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logpersister.formats.binary import Integers
from logpersister.formats.parquet.settings import SortColumnSpec
from logpersister.formats.row_groups import RowGroups

MEMORY_OF_GROUP: Final = 2
"""Times `row_group_bytes`: at most so much memory its rows take, but for the last one."""
_SIZE: Final = ""
"""The name of no other column."""
_LENGTH_BYTES: Final = 4
"""Size of the offset at which a text or a list ends."""


class SortedGroups:
    """The rows of one object that are not written yet."""

    def __init__(self, order: Sequence[SortColumnSpec], least_bytes: int) -> None:
        """Begin a file. A group ends with the row by which keys and values reach `least_bytes`, or rows twice that."""
        self._order = order
        self._groups = RowGroups(least_bytes)

    def add(self, rows: pa.RecordBatch, sizes: Integers) -> Iterator[tuple[pa.RecordBatch, "pa.Int64Array"]]:
        """Take in rows, with the bytes of their keys and values; yield the groups that are whole, and their sizes."""
        if not rows.num_rows:
            return
        counted = np.maximum(sizes, memory_of_rows(rows) // MEMORY_OF_GROUP)
        columns = [*rows.columns, pa.array(sizes, pa.int64())]
        sized = pa.RecordBatch.from_arrays(columns, schema=rows.schema.append(pa.field(_SIZE, pa.int64())))
        yield from map(self._sorted, self._groups.add(sized, counted))

    def rest(self) -> Iterator[tuple[pa.RecordBatch, "pa.Int64Array"]]:
        """Yield the last group, unless it has no row."""
        yield from map(self._sorted, self._groups.rest())

    def _sorted(self, group: pa.Table) -> tuple[pa.RecordBatch, "pa.Int64Array"]:
        whole = group.to_batches()[0]
        rows = whole.take(order_of(whole, self._order))
        last = rows.num_columns - 1
        without = pa.RecordBatch.from_arrays(rows.columns[:last], schema=pa.schema(list(rows.schema)[:last]))
        return without, cast("pa.Int64Array", rows.column(last))


def order_of(rows: pa.RecordBatch, order: Sequence[SortColumnSpec]) -> "pa.Array[Any]":
    """Return the places of rows as they are sorted; equal ones stay in their order."""
    keys = [pa.chunked_array([_comparable(_column(rows, one.field))]) for one in order]
    names = [str(place) for place in range(len(keys))]
    by = [
        (name, "descending" if one.descending else "ascending", "at_start" if one.nulls_first else "at_end")
        for name, one in zip(names, order, strict=True)
    ]
    found: pa.Array[Any] = pc.sort_indices(pa.table(keys, names), sort_keys=cast("Any", by))
    return found


def _column(rows: pa.RecordBatch, path: str) -> Any:
    name, *inner = path.split(".")
    found: Any = rows.column(rows.schema.get_field_index(name))
    for one in inner:
        found = found.flatten()[found.type.get_field_index(one)]  # null where the struct is
    return found


def _comparable(column: Any) -> "pa.Array[Any]":
    """Return whole numbers for floats: -0.0 is less than 0.0, NaN greater than all. Other columns are as they are."""
    if not pa.types.is_floating(column.type):
        return cast("pa.Array[Any]", column)
    values = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)  # exact, and NaN is one of many
    values[np.isnan(values)] = np.nan
    bits = values.view(np.int64)
    ordered = np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    return pa.array(ordered, pa.int64(), mask=column.is_null().to_numpy(zero_copy_only=False))


def memory_of_rows(rows: pa.RecordBatch) -> Integers:
    """Return the bytes that each row takes in memory, about; it depends on the row alone, not on its batch."""
    return sum((_memory(column) for column in rows.columns), np.zeros(rows.num_rows, np.int64))


def _memory(array: Any) -> Integers:
    type_ = array.type
    if not len(array):
        return np.zeros(0, np.int64)
    if pa.types.is_struct(type_):
        members = (_memory(array.field(place)) for place in range(type_.num_fields))
        return _where_valid(array, sum(members, np.ones(len(array), np.int64)))
    if pa.types.is_list(type_) or pa.types.is_map(type_):
        offsets = array.offsets.to_numpy()
        first, last = int(offsets[0]), int(offsets[-1])
        items = (array.keys, array.items) if pa.types.is_map(type_) else (array.values,)
        ends = np.zeros(last - first + 1, np.int64)
        for part in items:
            ends[1:] += np.cumsum(_memory(part.slice(first, last - first)))
        return _where_valid(array, ends[offsets[1:] - first] - ends[offsets[:-1] - first]) + _LENGTH_BYTES
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return np.asarray(pc.fill_null(pc.binary_length(array), 0)).astype(np.int64) + _LENGTH_BYTES
    return np.full(len(array), max(1, type_.bit_width // 8), np.int64)


def _where_valid(array: Any, sizes: Integers) -> Integers:
    """Return what lists and structs hold; below a null anything may stand."""
    if not array.null_count:
        return sizes
    found: Integers = np.where(array.is_valid().to_numpy(zero_copy_only=False), sizes, 0)
    return found
