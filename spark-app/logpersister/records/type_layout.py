"""Layout of the records of one type: which are kept, what the parser makes of them, and their partition paths.

Quarantine is the partition path of dead letters, the records that the parser refuses. It is one more path of a range,
like those that ``partitionBy`` makes, so everything that is true of paths is true of it: its object is promised,
written and committed with the others, and whether a record belongs there depends on the record alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from logpersister.manifest.blocks.keep import Condition, named_columns
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.records.escaping import QUARANTINE
from logpersister.records.frames import NumberRows
from logpersister.records.hiding import hiding
from logpersister.records.keeping import Headers, HeaderTests, keeping
from logpersister.records.keyed_rows import HEAD, KeyedRows, keyed
from logpersister.records.left_out import left_out_refused
from logpersister.records.paths import Assignment, Layout, make_layout
from logpersister.records.record_times import OF_KAFKA, RecordTimes
from logpersister.records.renaming import renaming
from logpersister.records.schema import ROW
from logpersister.values.json.document_parser import JsonParser
from logpersister.values.parser import Parsing
from logpersister.values.reading.adjusted import joined
from logpersister.values.reading.columns import Portion, portion_of, row_columns
from logpersister.values.reading.parsers import Parsed, Parser
from logpersister.values.reading.writers import Writers
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from logpersister.values.rows import rows_of

_NEEDED_BY_PATHS = ("offset", "timestamp")
"""The columns that partition paths are made of: a copy of them costs little."""


class Bodies(Protocol):
    """Knows which part of values parsers get."""

    def inside(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the parts of records that have a type (columns of `records.schema`, without headers)."""


@dataclass(frozen=True, slots=True)
class TypeLayout:
    """Layout of the records of one rule of ``spec.types``; of all records where there are no types. Picklable."""

    paths: Layout
    """Paths of accepted records, below the folder of their type."""
    parser: Parser | None = None
    """None: any bytes are good."""
    bodies: Bodies | None = None
    """None: the parser gets whole values."""
    headers: Headers | None = None
    """Conditions on headers, judged before anything is parsed; None: there are none."""
    keeps_refused_values: bool = True
    """Whether quarantine has the values of records."""
    refuses_left_out: bool = False
    """Whether records that conditions leave out stay in quarantine, as in replays."""
    portion: Portion | None = None
    """Most records that are made rows of at once; None: any number."""
    times: RecordTimes = OF_KAFKA

    def assign(self, batch: pa.RecordBatch) -> Assignment:
        kept = None if self.headers is None else self.headers.kept(batch)
        if kept is None:
            found = self._of_kept(batch)
        elif len(kept):
            found = self._of_kept(batch.take(kept))
            found = replace(found, kept=kept if found.kept is None else kept[found.kept])
        else:
            found = Assignment([], np.zeros(0, np.int32), kept=kept)
        return left_out_refused(found, batch.num_rows) if self.refuses_left_out else found

    def _of_kept(self, batch: pa.RecordBatch) -> Assignment:
        """Parse records that fulfil conditions on headers, and give them their paths."""
        values = batch if self.bodies is None else self.bodies.inside(batch)
        if self.parser is None:
            return self.paths.assign(values)
        parsed = self.parser.parse(values)
        if parsed.kept is not None:
            values = values.select(_NEEDED_BY_PATHS).take(parsed.kept)
        found = self._of_parsed(values, parsed)
        return replace(found, kept=parsed.kept, keeps_refused_values=self.keeps_refused_values)

    def _of_parsed(self, batch: pa.RecordBatch, parsed: Parsed) -> Assignment:
        """Give accepted records the paths of their rows, and refused ones that of quarantine."""
        refused = parsed.refused
        if refused is None:
            found = self.paths.assign(_with_row(batch, parsed.rows))
            return replace(found, rows=parsed.rows, adjusted=joined(parsed.adjusted, found.adjusted))
        if len(refused.rows) == batch.num_rows:
            return Assignment([QUARANTINE], np.zeros(batch.num_rows, np.int32), refused)
        good = np.ones(batch.num_rows, np.bool_)
        good[refused.rows] = False
        others = self.paths.assign(_with_row(batch.select(_NEEDED_BY_PATHS).filter(pa.array(good)), parsed.rows))
        indices = np.full(batch.num_rows, len(others.paths), np.int32)
        indices[good] = others.indices
        unusable = None if others.adjusted is None else others.adjusted.within(np.flatnonzero(good))
        adjusted = joined(parsed.adjusted, unusable)
        return Assignment([*others.paths, QUARANTINE], indices, refused, parsed.rows, adjusted)


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
) -> TypeLayout:
    """Return how a revision spreads records of one type over partition paths; see `make_parser`."""
    return TypeLayout(
        make_layout(output.partition_by),
        make_parser(parser, schema, writers, heads, keep),
        headers=HeaderTests.of(keep),
        keeps_refused_values=parser.quarantine.keeps_refused_values(hides=bool(schema.hidden)),
        portion=portion_of(parser, schema.parsed_for(named_columns(keep))),
    )
