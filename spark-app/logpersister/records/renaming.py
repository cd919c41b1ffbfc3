"""Rows whose columns, and fields in them, have other names than values have (``spec.value.rename``).

Arrays stay what they are; only their types are told anew.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa

from logpersister.values.reading.parsers import Parsed, Parser
from logpersister.values.renaming import Renames, below


@dataclass(frozen=True)
class RenamingParser:
    """A parser whose rows have other names. What it refuses, it names as values do."""

    inner: Parser
    renames: Renames

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        parsed = self.inner.parse(batch)
        return parsed if parsed.rows is None else replace(parsed, rows=_renamed(parsed.rows, self.renames))


def renaming(parser: Parser, renames: Renames) -> Parser:
    """Return a parser whose rows have the names that a schema asks for."""
    return RenamingParser(parser, renames) if renames else parser


def _renamed(rows: pa.StructArray, renames: Renames) -> pa.StructArray:
    columns: list[Any] = []
    fields: list[pa.Field[Any]] = []
    for place, field in enumerate(rows.type):
        column: Any = rows.field(place)
        if inside := below(renames, field.name):
            column = _renamed(column, inside)
        columns.append(column)
        fields.append(field.with_type(column.type).with_name(renames.get((field.name,), field.name)))
    from_arrays = cast("Callable[..., pa.StructArray]", pa.StructArray.from_arrays)
    return from_arrays(columns, fields=fields, mask=rows.is_null() if rows.null_count else None)
