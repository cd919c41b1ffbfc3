"""Quarantine: the partition path of dead letters, the records that the parser refuses.

It is one more path of a range, like those that ``partitionBy`` makes, so everything that is true of paths is true of
it: its object is promised, written and committed with the others, and whether a record belongs there depends on the
record alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from logpersister.manifest.blocks.keep import Condition
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.records.escaping import QUARANTINE
from logpersister.records.frames import NumberRows
from logpersister.records.hiding import hiding
from logpersister.records.keeping import keeping
from logpersister.records.keyed_rows import HEAD, KeyedRows, keyed
from logpersister.records.paths import Assignment, Layout, make_layout
from logpersister.records.renaming import renaming
from logpersister.records.schema import ROW
from logpersister.values.json.rows import JsonParser
from logpersister.values.parser import Parsing
from logpersister.values.reading.adjusted import joined
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.parsers import Parsed, Parser
from logpersister.values.reading.writers import Writers
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from logpersister.values.rows import rows_of

_NEEDED_BY_PATHS = ("offset", "timestamp")
"""The columns that partition paths are made of: a copy of them costs little."""


@dataclass(frozen=True, slots=True)
class QuarantineLayout:
    """Gives records that the parser refuses the path of quarantine, all others that of `inner`."""

    parser: Parser
    inner: Layout

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        parsed = self.parser.parse(batch)
        if parsed.kept is None:
            return self._assigned(batch, parsed)
        found = self._assigned(batch.select(_NEEDED_BY_PATHS).take(parsed.kept), parsed)
        return replace(found, kept=parsed.kept)

    def _assigned(self, batch: pa.RecordBatch, parsed: Parsed) -> Assignment:
        refused = parsed.refused
        if refused is None:
            found = self.inner.assign(_with_row(batch, parsed.rows))
            return replace(found, rows=parsed.rows, adjusted=joined(parsed.adjusted, found.adjusted))
        if len(refused.rows) == batch.num_rows:
            return Assignment([QUARANTINE], np.zeros(batch.num_rows, np.int32), refused)
        good = np.ones(batch.num_rows, np.bool_)
        good[refused.rows] = False
        others = self.inner.assign(_with_row(batch.select(_NEEDED_BY_PATHS).filter(pa.array(good)), parsed.rows))
        indices = np.full(batch.num_rows, len(others.paths), np.int32)
        indices[good] = others.indices
        unusable = None if others.adjusted is None else others.adjusted.within(np.flatnonzero(good))
        adjusted = joined(parsed.adjusted, unusable)
        return Assignment([*others.paths, QUARANTINE], indices, refused, parsed.rows, adjusted)


@dataclass(frozen=True, slots=True)
class WithoutRefusedValues:
    """A layout that stores no values of records in quarantine."""

    inner: Layout

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        return replace(self.inner.assign(batch), keeps_refused_values=False)


def _with_row(batch: pa.RecordBatch, rows: pa.StructArray | None) -> pa.RecordBatch:
    return batch if rows is None else batch.append_column(ROW, rows)


def make_parser(
    parser: Parsing,
    schema: RowSchema,
    writers: Writers | None = None,
    heads: Parser | None = None,
    keep: Sequence[Condition] = (),
) -> Parser | None:
    """Return the parser of ``spec.value`` and ``spec.key``; None when any bytes are good.

    Args:
        parser: how values are read.
        schema: what they become.
        writers: by which schemas they were written; only for headers that name these, and needed there.
        heads: makes the column of what stands around values, if the schema has one.
        keep: conditions on fields, which rows must fulfil.

    Raises ManifestError when the key of hashed fields is not there.
    """
    if not schema.has_columns:
        return JsonParser() if parser.type == "json" else None

    def rows_by(parsed: RowSchema) -> Parser:
        rows = renaming(rows_of(parser, parsed.as_written, writers), parsed.renames)
        rows = keyed(rows, parsed, writers)
        if heads is not None and parsed.head is not None:
            rows = KeyedRows(rows, heads, parsed.head.name, source=HEAD)
        for number, column in parsed.numbers.items():
            numbers = NumberRows(row_columns(parsed).field(column.name).type)
            rows = KeyedRows(rows, numbers, column.name, is_plain=True, source=number)
        return rows

    return hiding(keeping(rows_by, schema.as_parsed, keep), schema)


def layout_of(
    output: OutputSpec,
    parser: Parsing,
    schema: RowSchema = AS_THEY_ARE,
    writers: Writers | None = None,
    heads: Parser | None = None,
    keep: Sequence[Condition] = (),
) -> Layout:
    """Return how a revision spreads records over partition paths; see `make_parser`."""
    inner, checks = make_layout(output.partition_by), make_parser(parser, schema, writers, heads, keep)
    if checks is None:
        return inner
    layout = QuarantineLayout(checks, inner)
    keeps = parser.quarantine.keeps_refused_values(hides=bool(schema.hidden))
    return layout if keeps else WithoutRefusedValues(layout)
