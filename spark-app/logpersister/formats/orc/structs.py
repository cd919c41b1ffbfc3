"""Structs as pyarrow's writer of ORC has to get them, or other structs are null, and fields belong to other rows.

Source: Arrow's ``adapters/orc/util.cc``. A field must be null where its struct is, which the writer sees to only where
the outermost struct has a null (`NormalizeArray`); and then it forgets where in its memory an array begins, and so do
its fields. Groups of rows are parts of arrays, as are the rows of a folder. Columns without structs need none of this.
"""

from typing import Any, cast

import pyarrow as pa


def with_whole_structs(rows: pa.Table) -> pa.Table:
    """Return rows whose structs begin where their memory does, with null fields where they are null, at any depth."""
    columns = [pa.chunked_array([_whole(one) for one in column.chunks], column.type) for column in rows.columns]
    return pa.table(columns, schema=rows.schema)


def _whole(array: Any) -> Any:
    if not _has_struct(array.type):
        return array
    # With nothing behind it, as one array alone may be given back as it is.
    return _filled(pa.concat_arrays([array, array.slice(0, 0)]) if _begins_elsewhere(array) else array)


def _has_struct(type_: Any) -> bool:
    if pa.types.is_map(type_):
        return _has_struct(type_.item_type)
    return pa.types.is_struct(type_) or (pa.types.is_list(type_) and _has_struct(type_.value_type))


def _begins_elsewhere(array: Any) -> bool:
    """Whether an array, or one in it, is a part that has something before it."""
    type_: Any = array.type
    if array.offset:
        return True
    if pa.types.is_struct(type_):
        return any(_begins_elsewhere(array.field(place)) for place in range(type_.num_fields))
    if pa.types.is_map(type_):
        return _begins_elsewhere(array.keys) or _begins_elsewhere(array.items)
    return pa.types.is_list(type_) and _begins_elsewhere(array.values)


def _filled(array: Any) -> Any:
    """Return an array that begins at the begin of its memory with null fields where structs are null."""
    type_: Any = array.type
    if pa.types.is_struct(type_):
        fields = [_filled(one) for one in array.flatten()]  # null where the struct is
        return cast("Any", pa.StructArray.from_arrays)(fields, fields=[*type_], mask=array.is_null())
    if pa.types.is_map(type_) and _has_struct(type_.item_type):
        entries = pa.StructArray.from_arrays(
            [array.keys, _filled(array.items)], fields=[type_.key_field, type_.item_field]
        )
        return around(array, entries)
    if pa.types.is_list(type_) and _has_struct(type_.value_type):
        return around(array, _filled(array.values))
    return array


def around(array: Any, values: Any) -> Any:
    """Return a list or map with other values in the same places."""
    return pa.Array.from_buffers(array.type, len(array), array.buffers()[:2], offset=array.offset, children=[values])
