"""Splits batches of records into sides, and sides by partition path: one ordering of the rows for any number of paths.

A *side* are records of a batch whose rows have the same columns: those that one rule of ``spec.types`` has accepted, or
all that were refused. A topic without types has one rule. The steps from a batch to its paths:

1. `typed_records` finds the type of each record (`records.topic_layout`).
2. `sides_of_types` splits the records by rule, has each rule parse its own, and gives them their partition paths.
3. `rows_by_path` splits the rows of a side by path.

`sides` is steps 1 and 2, `by_path` is all of them. `persist.RangeWriter` calls the first two one by one, because
records of sparse types wait between them (`waiting_types`).
"""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from logpersister.formats import binary
from logpersister.pipeline.type_tally import TypeTally
from logpersister.ranges import Offset
from logpersister.records.escaping import QUARANTINE, own_path
from logpersister.records.event_types import Found
from logpersister.records.late import CAME_LATE
from logpersister.records.paths import Assignment, Indices
from logpersister.records.schema import FIELD, HEADERS, REASON, ROW
from logpersister.records.topic_layout import TopicLayout, in_folders_of_types
from logpersister.records.type_names import DROPPED, REFUSED
from logpersister.values.reading.adjusted import Adjusted
from logpersister.values.reading.columns import Portion
from logpersister.values.reading.record_headers import as_read, finding_once

Marks = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

MOST_BYTES: Final = 4 << 20
"""Keys and values that are made rows of at once, with 64 bytes for each record: in columns a value can take 64 times
its bytes, and 4 KiB."""


@dataclass(frozen=True, slots=True)
class Side:
    """Records of a batch whose rows have the same columns: accepted ones, of one rule, or all refused ones."""

    rows: pa.RecordBatch
    """Columns of `records.schema`, and what the parser says of the records; at least one row."""
    paths: Sequence[str]
    indices: Indices
    """Row ``i`` belongs to ``paths[indices[i]]``."""
    refused: str | None = None
    """Why the parser has refused the first of them, or that all came late; None: it has accepted them."""
    rule: int = 0
    """Index of the rule of ``spec.types`` that accepted the records; 0 without types."""
    is_parsed_again: bool = False
    """Whether held rows lose their parsed columns, for `parsed_again`."""
    adjusted: Adjusted | None = None
    """Adjusted values of accepted records; None: none."""

    @property
    def columns(self) -> int:
        """Identity of the columns: sides of a range with the same number have the same columns."""
        return REFUSED if self.refused is not None else self.rule

    @property
    def held(self) -> pa.RecordBatch:
        """The rows as they are held in memory.

        Parsing twice costs less than the memory for columns: of many types, more of a range then has room in one pass.
        """
        return self.rows.drop_columns([ROW]) if self.is_parsed_again and ROW in self.rows.schema.names else self.rows

    @property
    def late(self) -> int:
        """Number of late records."""
        if self.refused is not None:
            return int(_came_late(self.rows).sum())
        late = np.array([path != own_path(path) for path in self.paths], np.bool_)
        return int(late[self.indices].sum()) if late.any() else 0

    @property
    def has_refused(self) -> bool:
        """Whether a parser or a type has refused any of them."""
        return self.refused is not None and self.late < self.rows.num_rows

    @property
    def first_refused(self) -> Offset:
        """Offset of the first record that the parser has refused, of which there is one."""
        offset: Offset = self.rows.column("offset")[int(np.argmin(_came_late(self.rows)))].as_py()
        return offset


@dataclass(frozen=True, slots=True)
class TypedRecords:
    """Records with their types; at least one."""

    records: pa.RecordBatch
    """Columns of `records.schema`, and perhaps what `finding_once` adds."""
    found: Found

    def at(self, rows: Indices | Places) -> "TypedRecords":
        """Return a copy of some of them, by their places."""
        return TypedRecords(self.records.take(rows), replace(self.found, indices=self.found.indices[rows]))


# From a batch to paths.


def by_path(
    batch: pa.RecordBatch, layout: TopicLayout, note: Callable[[Adjusted], None] = lambda _: None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield rows of each path, in offset order, with what the parser says of them (columns of `records.schema`).

    A path may come several times, each time with later rows. `note` gets the adjusted values.
    """
    for side in sides(batch, layout):
        if side.adjusted is not None:
            note(side.adjusted)
        yield from rows_by_path(side)


def sides(batch: pa.RecordBatch, layout: TopicLayout) -> Iterator[Side]:
    """Yield the sides of a batch that has rows (columns of `records.schema`). Records that are left out are in none."""
    typed = typed_records(batch, layout)
    if typed is not None:
        yield from sides_of_types(typed, layout)


def rows_by_path(side: Side) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield each path of a side with its rows."""
    if len(side.paths) == 1:
        yield side.paths[0], side.rows
        return
    ordered = side.rows.take(order_by_group(side.indices))
    begin = 0
    for path, count in zip(side.paths, np.bincount(side.indices, minlength=len(side.paths)).tolist(), strict=True):
        if count:
            yield path, ordered.slice(begin, count)
            begin += count


# Find types, split by rule, parse by the rule's parser.


def typed_records(batch: pa.RecordBatch, layout: TopicLayout, tally: TypeTally | None = None) -> TypedRecords | None:
    """Return the records of a batch that are not left out by their headers, with their types; None: all of them are.

    `tally`: counts the types of all records.
    """
    kept = None if layout.headers is None else layout.headers.kept(batch)
    if kept is not None:
        if not len(kept):
            return None
        batch = batch.take(kept)
    if layout.finds_ids_once and "headers" in batch.schema.names:
        batch = finding_once(batch)
    found = layout.finder.find(batch)
    if tally is not None:
        tally.found(batch, found)
    return TypedRecords(batch, found)


def sides_of_types(
    typed: TypedRecords, layout: TopicLayout, wanted: Container[int] | None = None, tally: TypeTally | None = None
) -> Iterator[Side]:
    """Yield sides of each rule whose records are stored, and last one side of all refused records.

    Args:
        typed: the records.
        layout: parses and places records of each rule.
        wanted: `Side.columns` of the sides that are needed; None: all.
        tally: counts accepted, refused and left out records by type.
    """
    if wanted is not None and REFUSED in wanted:
        wanted = None  # the parser of any rule may refuse records
    refused: list[Side] = []
    for rule, rows in _rows_by_rule(typed):
        if rule == DROPPED or (wanted is not None and rule not in wanted):
            continue
        # A copy, so that rows which are held keep no others in memory.
        of_rule = typed if rows is None else typed.at(rows)
        if rule == REFUSED:
            refused.append(_refused_by_type(of_rule))
            continue
        for side in _sides_of_rule(of_rule, layout, rule, tally):
            if side.refused is None:
                yield side
            else:
                refused.append(side)
    if refused:
        yield _joined_refused(refused)


def _rows_by_rule(typed: TypedRecords) -> Iterator[tuple[int, Places | None]]:
    """Yield each rule that records have (`type_names.Place.rule`), with their places in offset order; None: all."""
    rules = [place.rule for place in typed.found.places]
    if len(rules) == 1:
        yield rules[0], None
        return
    rule_of_row = np.array(rules, np.int64)[typed.found.indices]
    order = order_by_group(rule_of_row - REFUSED)  # the least of all, so that no group is negative
    for rows in np.split(order, np.flatnonzero(np.diff(rule_of_row[order])) + 1):
        yield int(rule_of_row[rows[0]]), None if len(rows) == len(order) else rows


def _refused_by_type(typed: TypedRecords) -> Side:
    places, indices, records = typed.found.places, typed.found.indices, as_read(typed.records)
    reasons = pa.array([place.reason for place in places], pa.string()).take(pa.array(indices, pa.int32()))
    rows = _with_reasons(records, reasons, pa.nulls(records.num_rows, pa.string()))
    return _refused_side(rows, places[indices[0]].reason or "")


def _sides_of_rule(typed: TypedRecords, layout: TopicLayout, rule: int, tally: TypeTally | None) -> Iterator[Side]:
    of_rule, found, begin = layout.rules[rule], typed.found, 0
    folders = [place.segment for place in found.places]
    for piece in pieces(typed.records, of_rule.portion):
        type_of_row = found.indices[begin : begin + piece.num_rows]
        begin += piece.num_rows
        inner = of_rule.assign(piece)
        type_of_kept = type_of_row if inner.kept is None else type_of_row[inner.kept]
        assignment = in_folders_of_types(inner, folders, type_of_kept)
        if layout.lateness is not None:
            assignment = layout.lateness.place(assignment)
        if tally is not None and inner.kept is not None:
            tally.left_out(piece, found, type_of_row, inner.kept)
        if tally is not None and inner.refused is not None:
            tally.refused(found, type_of_kept[inner.refused.rows])
        for side in _sides_of(as_read(piece), assignment):
            if side.refused is not None:
                yield side
                continue
            if tally is not None:
                refused = assignment.refused
                type_of_accepted = type_of_kept if refused is None else np.delete(type_of_kept, refused.rows)
                tally.accepted(found, type_of_accepted, of_rule.times.milliseconds(side.rows))
            yield replace(side, rule=rule, is_parsed_again=layout.has_types)


def parsed_again(held: pa.RecordBatch, layout: TopicLayout, columns: int) -> Iterator[pa.RecordBatch]:
    """Yield rows that were held (`Side.held`) with all their columns; `columns`: those of their side."""
    if not layout.has_types or columns == REFUSED:
        yield held
        return
    rule = layout.rules[columns]
    for piece in pieces(held, rule.portion):
        yield _with_rows(piece, rule.assign(piece).rows)


# From an assignment of paths to sides: the accepted records, then the refused ones.


def _sides_of(batch: pa.RecordBatch, assignment: Assignment) -> Iterator[Side]:
    if assignment.kept is not None:
        if not len(assignment.kept):
            return
        batch = batch.take(assignment.kept)
    refused = assignment.refused
    if refused is None:
        rows = _with_rows(batch, assignment.rows)
        yield Side(rows, assignment.paths, assignment.indices, adjusted=assignment.adjusted)
        return
    if len(assignment.paths) > 1:  # the last one is quarantine
        is_accepted = assignment.indices != len(assignment.paths) - 1
        rows = _with_rows(batch.filter(pa.array(is_accepted, pa.bool_())), assignment.rows)
        yield Side(rows, assignment.paths[:-1], assignment.indices[is_accepted], adjusted=assignment.adjusted)
    rejected = batch.take(refused.rows)
    if not assignment.keeps_refused_values:
        rejected = _without_values(rejected)
    yield _refused_side(_with_reasons(rejected, refused.reasons, refused.fields), refused.reason)


def _refused_side(rows: pa.RecordBatch, reason: str) -> Side:
    return Side(rows, [QUARANTINE], np.zeros(rows.num_rows, np.int32), reason)


def _joined_refused(found: Sequence[Side]) -> Side:
    if len(found) == 1:
        return found[0]
    first = min((one for one in found if one.has_refused), key=lambda one: one.first_refused, default=found[0])
    return _refused_side(by_offset([one.rows for one in found]), first.refused or "")


def _came_late(rows: pa.RecordBatch) -> Marks:
    found: Any = pc.equal(rows.column(REASON), pa.scalar(CAME_LATE))
    return cast("Marks", found.to_numpy(zero_copy_only=False))


# Batches.


def pieces(batch: pa.RecordBatch, portion: Portion | None) -> Iterator[pa.RecordBatch]:
    """Yield a batch in pieces that can be parsed at once; `portion` None: as a whole."""
    if portion is None or portion.holds(batch):
        yield batch
        return
    for start in range(0, batch.num_rows, portion.rows):
        yield from binary.slices(batch.slice(start, portion.rows), portion.bytes or MOST_BYTES)


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of batches, at least one, as one."""
    concat_batches: Callable[[Sequence[pa.RecordBatch]], pa.RecordBatch] = cast("Any", pa).concat_batches
    return batches[0] if len(batches) == 1 else concat_batches(batches)  # which the stubs do not know


def by_offset(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of batches, at least one, in the order of their offsets."""
    whole = joined(batches)
    return whole.take(np.argsort(whole.column("offset").to_numpy(), kind="stable"))


def order_by_group(
    groups: "np.ndarray[tuple[int], np.dtype[np.integer]]",
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the places of rows ordered by their group (0 or more), those of one group as they stand."""
    # numpy sorts 16 bits by radix, in one go over the rows.
    small = len(groups) > 0 and int(groups.max()) < 1 << 16
    return np.argsort(groups.astype(np.uint16) if small else groups, kind="stable")


def _with_rows(batch: pa.RecordBatch, rows: pa.StructArray | None) -> pa.RecordBatch:
    return batch if rows is None else batch.append_column(ROW, rows)


def _with_reasons(records: pa.RecordBatch, reasons: pa.StringArray, fields: pa.StringArray) -> pa.RecordBatch:
    return records.append_column(REASON, reasons).append_column(FIELD, fields)


def _without_values(batch: pa.RecordBatch) -> pa.RecordBatch:
    rows = batch.num_rows
    empty: dict[str, pa.Array[Any]] = {"value": pa.array([b""] * rows, pa.binary()), "key": pa.nulls(rows, pa.binary())}
    if "headers" in batch.schema.names:
        empty["headers"] = pa.array([[]] * rows, HEADERS)
    columns = [empty.get(field.name, batch.column(field.name)) for field in batch.schema]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
