"""The rows of files that have columns: what every reader of such a format gives."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from logpersister.values.reading.columns import map_of


class FileRows(Protocol):
    """The rows of one file in their order. To open it and to read it raise `formats.damage.ContentError`."""

    @property
    def schema(self) -> pa.Schema:
        """All columns."""

    def batches(self, most_rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield all rows, so many at once at most, with the columns of these names; None: with all."""


def plain(array: "pa.Array[Any]") -> "pa.Array[Any]":
    """Return an array with integers in place of dates, times and timestamps, at every depth."""
    return array.cast(plain_type(array.type))


def plain_type(type_: Any) -> pa.DataType:
    """Return a type with integers in place of dates, times and timestamps, in which nothing is required."""
    if pa.types.is_timestamp(type_) or pa.types.is_time64(type_):
        return pa.int64()
    if pa.types.is_time32(type_) or pa.types.is_date32(type_):
        return pa.int32()
    return around(type_, plain_type)


def nullable_type(type_: Any) -> pa.DataType:
    """Return a type in which nothing is required."""
    return around(type_, nullable_type)


def around(type_: Any, inner: Callable[[Any], pa.DataType]) -> pa.DataType:
    """Return a type whose members, items and values are what `inner` makes of theirs."""

    def field(one: "pa.Field[Any]") -> "pa.Field[Any]":
        return pa.field(one.name, inner(one.type))

    if pa.types.is_struct(type_):
        return pa.struct([field(one) for one in type_])
    if pa.types.is_map(type_):
        return map_of(pa.field("key", type_.key_type, nullable=False), field(type_.item_field).with_name("value"))
    if pa.types.is_list(type_):
        return pa.list_(field(type_.value_field).with_name("element"))
    found: pa.DataType = type_
    return found
