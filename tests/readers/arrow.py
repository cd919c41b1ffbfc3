"""Arrow tables of any reader as plain values, as `tests.readers.typed_rows` has them."""

from itertools import pairwise
from typing import Any, cast

import pyarrow as pa

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    columns = {name: _values(table.column(name).combine_chunks()) for name in table.column_names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(array: Any) -> list[Any]:  # noqa: PLR0911  (one for each kind)
    type_ = array.type
    if isinstance(array, pa.ChunkedArray):
        return [one for chunk in array.chunks for one in _values(chunk)]
    if pa.types.is_struct(type_):
        names, columns = [field.name for field in type_], [_values(one) for one in array.flatten()]
        return _valid(array, [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])
    if pa.types.is_map(type_):
        pairs = list(zip(_values(array.keys), _values(array.items), strict=True))
        return _valid(array, [dict(one) for one in _cut(array, pairs)])
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _valid(array, _cut(array, _values(array.values)))
    if pa.types.is_timestamp(type_) or pa.types.is_time(type_):
        factor = _NANOSECONDS[cast("Any", type_).unit]
        whole = array.cast(pa.int32() if pa.types.is_time32(type_) else pa.int64()).to_pylist()
        return [None if one is None else one * factor for one in whole]
    if pa.types.is_date32(type_):
        return list(array.cast(pa.int32()).to_pylist())
    if pa.types.is_string(type_):  # Spark has texts that are no UTF-8
        texts = array.cast(pa.binary()).to_pylist()
        return [None if one is None else one.decode(errors="surrogateescape") for one in texts]
    if pa.types.is_floating(type_):
        return [None if one is None else one.hex() for one in array.to_pylist()]
    return list(array.to_pylist())


def _cut(array: Any, items: list[Any]) -> list[Any]:
    ends = array.offsets.to_pylist()
    return [items[begin:end] for begin, end in pairwise(ends)]


def _valid(array: Any, values: list[Any]) -> list[Any]:
    return [value if is_valid else None for value, is_valid in zip(values, array.is_valid().to_pylist(), strict=True)]
