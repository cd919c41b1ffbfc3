"""What the footer of a Parquet file must say besides its columns: how rows are sorted, and field ids."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.formats.damage import ContentError
from logpersister.formats.parquet.settings import SortColumnSpec

_FIELD_ID: Final = b"PARQUET:field_id"


def require_footer(
    metadata: pq.FileMetaData, schema: pa.Schema, order: Sequence[SortColumnSpec], ids: Mapping[str, int]
) -> None:
    """Raise `ContentError` unless each row group says how its rows are sorted, and columns have these ids, if any."""
    wanted = [(one.field, one.descending, one.nulls_first) for one in order]
    for group in range(metadata.num_row_groups):
        columns = metadata.row_group(group).sorting_columns
        said = [
            (metadata.schema.column(one.column_index).path, one.descending, one.nulls_first) for one in columns or ()
        ]
        if said != wanted:
            raise ContentError(f"its row group {group} says that it is sorted by {said}, not by {wanted}")
    found = dict(_ids(schema))
    wrong = {path: found[path] for path in found if ids and found[path] != ids.get(path)}
    if wrong:
        path, number = next(iter(wrong.items()))
        raise ContentError(f"its column {path} has the field id {number}, not {ids.get(path)}")


def _ids(schema: pa.Schema) -> Iterator[tuple[str, int | None]]:
    for one in schema:
        yield from _ids_of(one, one.name)


def _ids_of(one: Any, path: str) -> Iterator[tuple[str, int | None]]:
    number = (one.metadata or {}).get(_FIELD_ID)
    yield path, None if number is None else int(number)
    type_ = one.type
    if pa.types.is_struct(type_):
        inside = [(member, member.name) for member in type_]
    elif pa.types.is_map(type_):
        inside = [(type_.key_field, "key"), (type_.item_field, "value")]
    else:
        inside = [(type_.value_field, "element")] if pa.types.is_list(type_) else []
    for member, name in inside:
        yield from _ids_of(member, f"{path}.{name}")
