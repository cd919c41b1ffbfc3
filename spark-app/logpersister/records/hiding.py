"""Fields of rows that are not stored as they are: a keyed hash, or no more than the end of them.

What it does happens between the parser and everything else, so folders, files and samples see only what is left.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

import logpersister_native as native
from logpersister.manifest.hiding_key import key_of
from logpersister.manifest.secrets import Secrets, SecretValue
from logpersister.values.reading.parsers import Parsed, Parser
from logpersister.values.row_schema import RowSchema

RULES: Final = 1
"""Raise it when a value is hidden otherwise than before."""

MASK: Final = "***"

Hide = Callable[[Any], Any]
"""Makes of texts, or whole numbers, what is stored of them; null of null."""


@dataclass(frozen=True)
class HidingParser:
    """A parser whose rows have hidden fields. Not to be pickled: it has a key."""

    inner: Parser
    fields: Mapping[tuple[str, ...], Hide]

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        parsed = self.inner.parse(batch)
        return parsed if parsed.rows is None else replace(parsed, rows=hidden(parsed.rows, self.fields))


def hiding(parser: Parser, schema: RowSchema) -> Parser:
    """Return a parser that hides what a schema asks for. Raises ManifestError when the key is not there."""
    fields: dict[tuple[str, ...], Hide] = {}
    if schema.hash is not None:
        key = key_of(schema.hash, Secrets())
        fields |= dict.fromkeys(map(_steps, schema.hash.fields), partial(_hashed, key))
    for one in schema.mask:
        fields |= dict.fromkeys(map(_steps, one.fields), partial(_masked, one.keep_last))
    return HidingParser(parser, fields) if fields else parser


def hidden(rows: pa.StructArray, fields: Mapping[tuple[str, ...], Hide]) -> pa.StructArray:
    """Return rows whose values at these paths are hidden."""
    columns: list[Any] = []
    for place, field in enumerate(rows.type):
        column: Any = rows.field(place)
        below = {tuple(path[1:]): hide for path, hide in fields.items() if path[0] == field.name}
        if () in below:
            column = below[()](column)
        elif below:
            column = hidden(column, below)
        columns.append(column)
    told = [field.with_type(column.type) for field, column in zip(rows.type, columns, strict=True)]
    from_arrays = cast("Callable[..., pa.StructArray]", pa.StructArray.from_arrays)
    return from_arrays(columns, fields=told, mask=rows.is_null())


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _hashed(key: SecretValue, values: Any) -> pa.StringArray:
    """Hash texts, and whole numbers by their decimal digits."""
    return native.keyed_hashes(values.cast(pa.string()), key.reveal().encode())


def _masked(keep_last: int, texts: Any) -> Any:
    if keep_last == 0:
        return pc.if_else(pc.is_valid(texts), MASK, pa.scalar(None, pa.string()))
    length: Any = pc.utf8_length(texts)
    is_long = pc.greater_equal(length, pa.scalar(2 * keep_last, length.type))
    end = pc.utf8_slice_codeunits(texts, -keep_last)
    return pc.binary_join_element_wise(MASK, pc.if_else(is_long, end, ""), "")
