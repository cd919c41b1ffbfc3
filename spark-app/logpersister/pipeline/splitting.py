"""Splits batches of records by partition path: one ordering of the rows, whatever the number of paths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from logpersister.records.escaping import QUARANTINE
from logpersister.records.paths import Assignment, Indices
from logpersister.records.schema import FIELD, HEADERS, REASON, ROW


@dataclass(frozen=True, slots=True)
class Side:
    """The records of a batch that the parser accepted, or those that it refused: both have columns of their own."""

    rows: pa.RecordBatch
    """Columns of `records.schema`, and what the parser says of them; at least one row."""
    paths: Sequence[str]
    indices: Indices
    """Row ``i`` belongs to ``paths[indices[i]]``."""
    is_refused: bool


def sides(batch: pa.RecordBatch, assignment: Assignment) -> Iterator[Side]:
    """Yield one or both sides of a batch that has rows."""
    refused = assignment.refused
    if refused is None:
        yield Side(_with_rows(batch, assignment.rows), assignment.paths, assignment.indices, is_refused=False)
        return
    if len(assignment.paths) > 1:
        good = assignment.indices != len(assignment.paths) - 1
        accepted = _with_rows(batch.filter(pa.array(good, pa.bool_())), assignment.rows)
        yield Side(accepted, assignment.paths[:-1], assignment.indices[good], is_refused=False)
    bad = batch.take(refused.rows)
    if not assignment.keeps_refused_values:
        bad = _without_values(bad)
    told = bad.append_column(REASON, refused.reasons).append_column(FIELD, refused.fields)
    yield Side(told, [QUARANTINE], np.zeros(told.num_rows, np.int32), is_refused=True)


def by_path(batch: pa.RecordBatch, assignment: Assignment) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each path, in offset order, with what the parser says of them (columns of `records.schema`)."""
    for side in sides(batch, assignment):
        if len(side.paths) == 1:
            yield side.paths[0], side.rows
            continue
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
