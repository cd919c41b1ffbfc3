"""Splits batches of records by partition path: one ordering of the rows, whatever the number of paths."""

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
from logpersister.records.adjusted import Adjusted
from logpersister.records.columns import Portion
from logpersister.records.escaping import QUARANTINE, own_path
from logpersister.records.event_types import Found
from logpersister.records.late import CAME_LATE
from logpersister.records.paths import Assignment, Indices
from logpersister.records.schema import FIELD, HEADERS, REASON, ROW
from logpersister.records.type_names import DROPPED, REFUSED
from logpersister.records.typed import AnyLayout, TypedLayout, in_folders_of_types

Marks = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

MOST_BYTES: Final = 4 << 20
"""Keys and values that are made rows of at once, with 64 bytes for each record: in columns a value can take 64 times
its bytes, and 4 KiB."""


@dataclass(frozen=True, slots=True)
class Side:
    """The records of a batch that the parser accepted, or those that it refused: both have columns of their own."""

    rows: pa.RecordBatch
    """Columns of `records.schema`, and what the parser says of them; at least one row."""
    paths: Sequence[str]
    indices: Indices
    """Row ``i`` belongs to ``paths[indices[i]]``."""
    refused: str | None = None
    """Why the parser has refused the first of them, or that all came late; None: it has accepted them."""
    rule: int = 0
    """Index of the rule of ``spec.types`` that accepted the records. Each rule has columns of its own."""
    is_of_type: bool = False
    """Whether there are types."""
    adjusted: Adjusted | None = None
    """What the parser has adjusted in accepted records; None: nothing."""

    @property
    def waiting(self) -> pa.RecordBatch:
        """The records as they wait in memory: where there are types without rows, which are made again (`again`).

        Making them twice costs less than what they take: of many types, more of a range then has room in one pass.
        """
        makes_again = self.is_of_type and self.refused is None and ROW in self.rows.schema.names
        return self.rows.drop_columns([ROW]) if makes_again else self.rows

    @property
    def columns(self) -> int:
        """Sides of one range have the same columns if this number is the same."""
        return REFUSED if self.refused is not None else self.rule

    @property
    def late(self) -> int:
        """How many of the records came late."""
        if self.refused is not None:
            return int(_came_late(self.rows).sum())
        late = np.array([path != own_path(path) for path in self.paths], np.bool_)
        return int(late[self.indices].sum()) if late.any() else 0

    @property
    def first_refused(self) -> Offset:
        """The offset of the first record that the parser has refused, of which there is one."""
        offset: Offset = self.rows.column("offset")[int(np.argmin(_came_late(self.rows)))].as_py()
        return offset


@dataclass(frozen=True, slots=True)
class TypedRecords:
    """Records whose types were found; at least one."""

    records: pa.RecordBatch
    """Columns of `records.schema`."""
    found: Found

    def at(self, rows: Indices | Places) -> "TypedRecords":
        """Return some of them, by their places, as a copy."""
        return TypedRecords(self.records.take(rows), replace(self.found, indices=self.found.indices[rows]))


def sides(batch: pa.RecordBatch, layout: AnyLayout) -> Iterator[Side]:
    """Yield the sides of a batch that has rows (columns of `records.schema`). Records that are left out are in none."""
    if not isinstance(layout, TypedLayout):
        yield from _of(batch, layout.assign(batch))
    elif (typed := typed_records(batch, layout)) is not None:
        yield from sides_of_types(typed, layout)


def _of(batch: pa.RecordBatch, assignment: Assignment) -> Iterator[Side]:
    if assignment.kept is not None:
        if not len(assignment.kept):
            return
        batch = batch.take(assignment.kept)
    refused = assignment.refused
    if refused is None:
        rows = _with_rows(batch, assignment.rows)
        yield Side(rows, assignment.paths, assignment.indices, adjusted=assignment.adjusted)
        return
    if len(assignment.paths) > 1:
        good = assignment.indices != len(assignment.paths) - 1
        accepted = _with_rows(batch.filter(pa.array(good, pa.bool_())), assignment.rows)
        yield Side(accepted, assignment.paths[:-1], assignment.indices[good], adjusted=assignment.adjusted)
    bad = batch.take(refused.rows)
    if not assignment.keeps_refused_values:
        bad = _without_values(bad)
    yield _refused(_told(bad, refused.reasons, refused.fields), refused.reason)


def typed_records(batch: pa.RecordBatch, layout: TypedLayout, tally: TypeTally | None = None) -> TypedRecords | None:
    """Return the records of a batch that are not left out by their headers, with their types; None: all of them are.

    `tally`: counts the types of all records.
    """
    kept = None if layout.headers is None else layout.headers.kept(batch)
    if kept is not None:
        if not len(kept):
            return None
        batch = batch.take(kept)
    found = layout.finder.find(batch)
    if tally is not None:
        tally.found(batch, found)
    return TypedRecords(batch, found)


def sides_of_types(
    typed: TypedRecords, layout: TypedLayout, wanted: Container[int] | None = None, tally: TypeTally | None = None
) -> Iterator[Side]:
    """Yield a side for each rule whose records are stored, in pieces, and last one for all that are refused.

    Args:
        typed: the records.
        layout: how they are split.
        wanted: those `Side.columns` of which something is needed; None: all.
        tally: counts what becomes of the records.
    """
    wanted = None if wanted is None or REFUSED in wanted else wanted
    found = typed.found
    rule_of = np.array([place.rule for place in found.places], np.int64)[found.indices]
    order = in_order(rule_of - REFUSED)
    folders = [place.segment for place in found.places]
    refused: list[pa.RecordBatch] = []
    for rows in np.split(order, np.flatnonzero(np.diff(rule_of[order])) + 1):
        rule = int(rule_of[rows[0]])
        if rule == DROPPED or (wanted is not None and rule not in wanted):
            continue
        # A copy, so that rows which wait keep no others in memory.
        of_rule = typed if len(rows) == len(order) else typed.at(rows)
        if rule == REFUSED:
            reasons = pa.array([place.reason for place in found.places], pa.string()).take(
                pa.array(of_rule.found.indices, pa.int32())
            )
            refused.append(_told(of_rule.records, reasons, pa.nulls(len(rows), pa.string())))
            continue
        for side in _of_rule(of_rule.records, layout, rule, folders, of_rule.found, tally):
            if side.refused is None:
                yield side
            else:
                refused.append(side.rows)
    if refused:
        yield _refused(by_offset(refused))


def _of_rule(
    records: pa.RecordBatch,
    layout: TypedLayout,
    rule: int,
    folders: Sequence[str],
    found: Found,
    tally: TypeTally | None,
) -> Iterator[Side]:
    """Yield the sides of records of one rule, in pieces; `found`: their types, whose folders are `folders`."""
    begin = 0
    for piece in pieces(records, layout.rules[rule].portion):
        of_piece = found.indices[begin : begin + piece.num_rows]
        begin += piece.num_rows
        inner = layout.rules[rule].layout.assign(piece)
        of_kept = of_piece if inner.kept is None else of_piece[inner.kept]
        placed = in_folders_of_types(inner, folders, of_kept)
        if layout.lateness is not None:
            placed = layout.lateness.place(placed)
        if tally is not None and inner.kept is not None:
            tally.left_out(piece, found, of_piece, inner.kept)
        if tally is not None and inner.refused is not None:
            tally.refused(found, of_kept[inner.refused.rows])
        for side in _of(piece, placed):
            if side.refused is not None:
                yield side
                continue
            if tally is not None:
                of_rows = of_kept if placed.refused is None else np.delete(of_kept, placed.refused.rows)
                tally.accepted(found, of_rows, layout.rules[rule].times.milliseconds(side.rows))
            yield replace(side, rule=rule, is_of_type=True)


def again(batch: pa.RecordBatch, layout: AnyLayout, columns: int) -> Iterator[pa.RecordBatch]:
    """Yield records that have waited, with their rows."""
    if not isinstance(layout, TypedLayout) or columns == REFUSED:
        yield batch
        return
    rule = layout.rules[columns]
    for piece in pieces(batch, rule.portion):
        yield _with_rows(piece, rule.layout.assign(piece).rows)


def pieces(batch: pa.RecordBatch, portion: Portion | None) -> Iterator[pa.RecordBatch]:
    """Yield a batch in pieces of which rows can be made at once; None: as a whole."""
    if portion is None:
        yield batch
        return
    for start in range(0, batch.num_rows, portion.rows):
        yield from binary.slices(batch.slice(start, portion.rows), portion.bytes or MOST_BYTES)


def _told(records: pa.RecordBatch, reasons: pa.StringArray, fields: pa.StringArray) -> pa.RecordBatch:
    return records.append_column(REASON, reasons).append_column(FIELD, fields)


def _came_late(told: pa.RecordBatch) -> Marks:
    found: Any = pc.equal(told.column(REASON), pa.scalar(CAME_LATE))
    return cast("Marks", found.to_numpy(zero_copy_only=False))


def _refused(told: pa.RecordBatch, reason: str | None = None) -> Side:
    if reason is None:
        first = int(np.argmin(_came_late(told)))
        word, field = told.column(REASON)[first], told.column(FIELD)[first]
        reason = f"{word} in {field}" if field.is_valid else str(word)
    return Side(told, [QUARANTINE], np.zeros(told.num_rows, np.int32), reason)


def by_offset(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of batches, at least one, in the order of their offsets."""
    whole = joined(batches)
    return whole.take(np.argsort(whole.column("offset").to_numpy(), kind="stable"))


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of batches, at least one, as one."""
    concat_batches: Callable[[Sequence[pa.RecordBatch]], pa.RecordBatch] = cast("Any", pa).concat_batches
    return batches[0] if len(batches) == 1 else concat_batches(batches)  # which the stubs do not know


def by_path(
    batch: pa.RecordBatch, layout: AnyLayout, note: Callable[[Adjusted], None] = lambda _: None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield rows of each path, in offset order, with what the parser says of them (columns of `records.schema`).

    A path may come several times, each time with later rows. `note` is told what the parser has adjusted.
    """
    for side in sides(batch, layout):
        if side.adjusted is not None:
            note(side.adjusted)
        yield from parts(side)


def parts(side: Side) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each path of a side."""
    if len(side.paths) == 1:
        yield side.paths[0], side.rows
        return
    ordered = side.rows.take(in_order(side.indices))
    begin = 0
    for path, count in zip(side.paths, np.bincount(side.indices, minlength=len(side.paths)).tolist(), strict=True):
        if count:
            yield path, ordered.slice(begin, count)
            begin += count


def in_order(groups: "np.ndarray[tuple[int], np.dtype[np.integer]]") -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the places of rows ordered by their group, those of one group as they stand."""
    # numpy sorts 16 bits by radix, in one go over the rows.
    small = len(groups) > 0 and int(groups.max()) < 1 << 16
    return np.argsort(groups.astype(np.uint16) if small else groups, kind="stable")


def _with_rows(batch: pa.RecordBatch, rows: pa.StructArray | None) -> pa.RecordBatch:
    return batch if rows is None else batch.append_column(ROW, rows)


def _without_values(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return records with empty values, no keys and no headers."""
    rows = batch.num_rows
    empty: dict[str, pa.Array[Any]] = {"value": pa.array([b""] * rows, pa.binary()), "key": pa.nulls(rows, pa.binary())}
    if "headers" in batch.schema.names:
        empty["headers"] = pa.array([[]] * rows, HEADERS)
    columns = [empty.get(field.name, batch.column(field.name)) for field in batch.schema]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
