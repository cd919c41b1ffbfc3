"""Rows of values, with one more column: of the key (``spec.key``), or of what stands around the value."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from logpersister.values.parser import Parsing
from logpersister.values.reading.parsers import Parsed, Parser, Refused
from logpersister.values.reading.record_headers import OF_KEYS
from logpersister.values.reading.writers import Writers
from logpersister.values.regex.block import RegexSpec
from logpersister.values.row_schema import TEXT, RowSchema
from logpersister.values.rows import rows_of

RULES: Final = 1
"""Raise it when keys and values become rows together otherwise than before."""

HEAD: Final = "head"
"""Column of batches of records of types: what stands around the value, as bytes."""

_ANY_TEXT: Final = Parsing(type="regex", syntax=RegexSpec(pattern=rf"(?P<{TEXT}>(?:.|\n)*)"))
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows whose last column is of the key. Also a record with a null value has one."""

    values: Parser
    keys: Parser
    """Makes rows of keys, which it takes for values."""
    column: str
    is_plain: bool = False
    """Whether the only column of `keys` is the column, or the whole row."""
    source: str = "key"
    """The column of batches that has what is taken for keys: perhaps `HEAD`."""

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        of_values, of_keys = self.values.parse(batch), self.keys.parse(_as_values(batch, self.source))
        good_values, good_keys = _good(of_values, batch.num_rows), _good(of_keys, batch.num_rows)
        assert of_values.rows is not None
        assert of_keys.rows is not None
        values = of_values.rows.filter(pa.array(good_keys[good_values], pa.bool_()))
        keys = of_keys.rows.filter(pa.array(good_values[good_keys], pa.bool_()))
        rows, adjusted = self._joined(values, keys), of_values.adjusted
        if good_values.all() and good_keys.all():
            return Parsed(rows, None, adjusted)
        adjusted = None if adjusted is None else adjusted.only(good_keys)
        return Parsed(rows, self._refused(of_values.refused, of_keys.refused), adjusted)

    def _joined(self, values: pa.StructArray, keys: pa.StructArray) -> pa.StructArray:
        column: pa.Array[Any] = keys.flatten()[0] if self.is_plain else keys
        # Nothing is required: with a key, a null value is a row of nulls.
        is_optional = self.source == "key"
        fields = [field.with_nullable(is_optional or field.nullable) for field in values.type]
        from_arrays = cast("Callable[..., pa.StructArray]", pa.StructArray.from_arrays)
        return from_arrays([*values.flatten(), column], fields=[*fields, pa.field(self.column, column.type)])

    def _refused(self, of_values: Refused | None, of_keys: Refused | None) -> Refused:
        """Return what is refused of either; of both, for what is wrong with the value."""
        if of_keys is None:
            assert of_values is not None
            return of_values
        told = self._of_keys(of_keys)
        if of_values is None:
            return told
        only_keys = ~np.isin(told.rows, of_values.rows)
        places = np.concatenate([of_values.rows, told.rows[only_keys]])
        order = np.argsort(places)
        kept = pa.array(only_keys, pa.bool_())
        reasons = pa.concat_arrays([of_values.reasons, told.reasons.filter(kept)])
        fields = pa.concat_arrays([of_values.fields, told.fields.filter(kept)])
        first = of_values if of_values.rows[0] <= told.rows[0] else told
        return Refused(places[order], first.reason, reasons.take(order), fields.take(order))

    def _of_keys(self, refused: Refused) -> Refused:
        """Return what is refused of keys, with fields as the rows have them."""
        below: Any = pa.repeat(self.column, len(refused.rows))
        if not self.is_plain:
            fields: Any = refused.fields
            paths = pc.binary_join_element_wise(self.column, fields, ".")
            below = pc.if_else(refused.fields.is_valid(), paths, below)
        return Refused(refused.rows, f"of the {self.source}, {refused.reason}", refused.reasons, below)


def _as_values(batch: pa.RecordBatch, source: str) -> pa.RecordBatch:
    columns = {"value": batch.column(source)}
    if source == "key" and "headers" in batch.schema.names:
        columns["headers"] = batch.column("headers")
    return pa.RecordBatch.from_pydict(columns)


def _good(parsed: Parsed, rows: int) -> _Mask:
    good = np.ones(rows, np.bool_)
    if parsed.refused is not None:
        good[parsed.refused.rows] = False
    return good


def keyed(values: Parser, schema: RowSchema, writers: Writers | None) -> Parser:
    """Return a parser whose rows also have the column of the key, if the schema declares one.

    Args:
        values: makes the other columns.
        schema: of both.
        writers: by which schemas keys were written, where they name them.
    """
    key = schema.key
    if key is None:
        return values
    if key.as_values is None:
        return KeyedRows(values, rows_of(_ANY_TEXT, key.schema), key.column, is_plain=True)
    return KeyedRows(values, rows_of(key.as_values, key.schema, writers, OF_KEYS), key.column)
