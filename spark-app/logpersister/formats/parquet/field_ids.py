"""The numbers by which readers know the columns of a Parquet file whatever their names, on its Arrow schema.

Source: Iceberg's specification, appendix A (Parquet): an id stands on a field, on the members of structs, on the
``element`` of a list and on ``key`` and ``value`` of a map, never on the groups between them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import pyarrow as pa

from logpersister.values.reading.columns import map_of

_KEY: Final = b"PARQUET:field_id"
"""Metadata key from which pyarrow takes the id of a field when it writes a file."""


def with_field_ids(schema: pa.Schema, ids: Mapping[str, int]) -> pa.Schema:
    """Return the schema with the ids of all columns. Raises KeyError where a column has none."""
    return with_some_field_ids(schema, {path: ids[path] for path in id_paths(schema)})


def with_some_field_ids(schema: pa.Schema, ids: Mapping[str, int]) -> pa.Schema:
    """Return the schema with ids for the columns in `ids`."""
    return pa.schema([_numbered(field, "", ids) for field in schema]) if ids else schema


def id_paths(schema: pa.Schema) -> Iterator[str]:
    """Yield the path of everything that has an id, as Iceberg writes paths: ``a``, ``a.element``, ``a.element.b``."""
    for field in schema:
        yield from _paths(field, "")


def _numbered(field: "pa.Field[Any]", around: str, ids: Mapping[str, int]) -> "pa.Field[Any]":
    path = around + field.name
    metadata = {_KEY: str(ids[path]).encode()} if path in ids else None
    return pa.field(field.name, _numbered_type(field.type, path, ids), field.nullable, cast("Any", metadata))


def _numbered_type(type_: Any, path: str, ids: Mapping[str, int]) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([_numbered(one, f"{path}.", ids) for one in type_])
    if pa.types.is_map(type_):
        key, value = type_.key_field.with_name("key"), type_.item_field.with_name("value")
        return map_of(_numbered(key, f"{path}.", ids), _numbered(value, f"{path}.", ids))
    if pa.types.is_list(type_):
        return pa.list_(_numbered(type_.value_field.with_name("element"), f"{path}.", ids))
    found: pa.DataType = type_
    return found


def _paths(field: "pa.Field[Any]", around: str) -> Iterator[str]:
    path, type_ = around + field.name, cast("Any", field.type)
    yield path
    if pa.types.is_struct(type_):
        for one in type_:
            yield from _paths(one, f"{path}.")
    elif pa.types.is_map(type_):
        yield from _paths(type_.key_field.with_name("key"), f"{path}.")
        yield from _paths(type_.item_field.with_name("value"), f"{path}.")
    elif pa.types.is_list(type_):
        yield from _paths(type_.value_field.with_name("element"), f"{path}.")
