"""Instants before 1970 for pyarrow's writer of ORC, which would write their fractions so that others cannot read them.

Source: the writer divides towards zero, so a fraction before 1970 becomes a negative number of nanoseconds. Java's
readers, and so Spark and Hive, refuse the file or take it for another second. Therefore fractions before 1970 are cut
off; docs/formats.md says so.
"""

from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logpersister.formats.orc.structs import around
from logpersister.schemas.types import PER_SECOND

_MOST_SECONDS: Final = 2**53
"""Beyond them the writer rounds seconds, as floating-point numbers, to even ones. Only records of Kafka have them."""


def with_whole_seconds(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows whose instants before 1970, at any depth, are cut to the second in which they are.

    So are those beyond the year 285,000,000, to an even second.
    """
    columns = [_cut(column) for column in rows.columns]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def _cut(array: Any) -> Any:
    """Return an array with whole seconds, the same one if nothing in it changes."""
    type_ = array.type
    if pa.types.is_timestamp(type_):
        return array if type_.unit == "s" else _instants(array, PER_SECOND[type_.unit])
    if pa.types.is_struct(type_):
        inside = [array.field(place) for place in range(type_.num_fields)]
        cut = [_cut(one) for one in inside]
        changes = any(one is not other for one, other in zip(cut, inside, strict=True))
        return _struct(cut, type_, array.is_null()) if changes else array
    if pa.types.is_map(type_):
        items = array.items
        cut_items = _cut(items)
        entries = pa.struct([type_.key_field, type_.item_field])
        return array if cut_items is items else around(array, _struct([array.keys, cut_items], entries, None))
    if pa.types.is_list(type_):
        values = array.values
        cut_values = _cut(values)
        return array if cut_values is values else around(array, cut_values)
    return array


def _instants(array: Any, per_second: int) -> Any:
    numbers = array.view(pa.int64())
    bounds: Any = pc.min_max(numbers).as_py()
    if bounds["min"] is None or (bounds["min"] >= 0 and bounds["max"] // per_second <= _MOST_SECONDS):
        return array
    values = np.maximum(numbers.fill_null(0).to_numpy(), _earliest(per_second))
    seconds = values // per_second
    is_far = np.abs(seconds) > _MOST_SECONDS
    whole = np.where(is_far, seconds - seconds % 2, seconds) * per_second
    kept = np.where((values < 0) | is_far, whole, values)
    return pa.array(kept, mask=array.is_null().to_numpy(zero_copy_only=False)).view(array.type)


def _earliest(per_second: int) -> int:
    """Return the first instant of an even second that 64 bits hold."""
    return -(2**63 // (2 * per_second)) * 2 * per_second


def _struct(columns: list[Any], type_: Any, is_null: Any) -> Any:
    return cast("Any", pa.StructArray.from_arrays)(columns, fields=[*type_], mask=is_null)
