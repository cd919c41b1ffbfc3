"""Common part of the native parsers of values (``spark-app/native``), and their results in our words."""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, Final, Protocol, cast

import numpy as np
import pyarrow as pa

import logpersister_native as native
from logpersister.values.reading.adjusted import Adjusted
from logpersister.values.reading.parsers import Parsed, Refused

_ACCEPTED: Final = 0
_NULL: Final = 1
"""Codes of the native parser, which are places in its ``REASONS``."""

FAULT_RULES: Final = 1
"""Raise it when other rows come of `faults`, of defaults, or of unknown fields that are kept."""

ToldAdjusted = tuple[Sequence[tuple[int, str]], pa.Int64Array, pa.Int32Array]
"""Adjusted values, as a native parser returns them."""


class Native(Protocol):
    """A native parser that is known by its settings alone."""

    def parse(self, values: pa.BinaryArray, /) -> tuple[Any, ...]:
        """Return the parts that `parsed_of` takes."""


class NativeRows:
    """Makes its native parser when it first needs it, and keeps it: a topic may have a parser for each of its types.

    A copy that was pickled makes one of its own.
    """

    def __init__(self, make: Callable[[], Native]) -> None:
        """Make nothing yet."""
        self._make = make

    def __reduce__(self) -> tuple[type["NativeRows"], tuple[Callable[[], Native]]]:
        return NativeRows, (self._make,)

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        return parsed_of(*self._native.parse(cast("pa.BinaryArray", batch.column("value"))))

    @cached_property
    def _native(self) -> Native:
        return self._make()


def parsed_of(
    accepted: pa.RecordBatch, codes: pa.UInt8Array, fields: pa.StringArray, told: ToldAdjusted | None = None
) -> Parsed:
    """Return in our words what a native parser has made of values.

    Args:
        accepted: the rows of the values that were accepted.
        codes: of each value, why it was not; places in `native.REASONS`.
        fields: of each value, which field is concerned.
        told: what was adjusted in values that were accepted.
    """
    adjusted = None if told is None else _adjusted(*told)
    rows: pa.StructArray = accepted.to_struct_array()
    found = codes.to_numpy(zero_copy_only=True)
    if accepted.num_rows == len(found):
        return Parsed(rows, None, adjusted)
    refused = np.flatnonzero((found != _ACCEPTED) & (found != _NULL))
    kept = np.delete(found, refused)
    if accepted.num_rows < len(kept):
        rows = _with_nulls(rows, kept == _ACCEPTED)
    if not len(refused):
        return Parsed(rows, None, adjusted)
    reasons, where = _words().take(codes.take(refused)), fields.take(refused)
    first = f"{reasons[0]} in {where[0]}" if where[0].is_valid else str(reasons[0])
    return Parsed(rows, Refused(refused, f"no row of the schema: {first}", reasons, where), adjusted)


def _adjusted(kinds: Sequence[tuple[int, str]], records: pa.Int64Array, kind_of: pa.Int32Array) -> Adjusted | None:
    if not len(records):
        return None
    told = [(native.REASONS[code], path or None) for code, path in kinds]
    return Adjusted(told, records.to_numpy(zero_copy_only=True), kind_of.to_numpy(zero_copy_only=True))


def _with_nulls(rows: pa.StructArray, is_row: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> pa.StructArray:
    """Return rows with a null where there is none, below which no required field is null: writers of files look."""
    whole = cast("pa.StructArray", pa.concat_arrays([rows, _any_of(rows.type)]))
    found = whole.take(pa.array(np.where(is_row, np.cumsum(is_row) - 1, len(rows)), pa.int64()))
    columns = [found.field(place) for place in range(found.type.num_fields)]
    from_arrays = cast("Callable[..., pa.StructArray]", pa.StructArray.from_arrays)
    return from_arrays(columns, fields=[*rows.type], mask=pa.array(~is_row, pa.bool_()))


def _any_of(type_: Any, *, is_null: bool = False) -> "pa.Array[Any]":
    """Return one value of a type, or a null, in which no required field is null."""
    if pa.types.is_struct(type_):
        columns = [_any_of(one.type, is_null=one.nullable) for one in type_]
        from_arrays = cast("Callable[..., pa.Array[Any]]", pa.StructArray.from_arrays)
        return from_arrays(columns, fields=[*type_], mask=pa.array([is_null]))
    if is_null:
        return cast("pa.Array[Any]", pa.nulls(1, type_))
    if pa.types.is_list(type_) or pa.types.is_map(type_):
        return pa.array([[]], type_)
    zeros = pa.py_buffer(bytes(16))
    is_long = pa.types.is_string(type_) or pa.types.is_binary(type_)
    return pa.Array.from_buffers(type_, 1, [None, zeros, pa.py_buffer(b"")] if is_long else [None, zeros])


@cache
def _words() -> pa.StringArray:
    return pa.array(native.REASONS, pa.string())
