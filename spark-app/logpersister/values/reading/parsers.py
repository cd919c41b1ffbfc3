"""Parsers: which values are what they must be, for whole batches at once."""

from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.values.reading.adjusted import Adjusted

MOST_TOLD = 400
"""Characters of what is wrong with a schema."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Refused:
    """The records of a batch that the parser refused; at least one."""

    rows: Rows
    """Rows of the batch, ascending."""
    reason: str
    """Why the first of them was refused; has the position, and never anything of the value."""
    reasons: pa.StringArray
    """Why, for each of them, in one word."""
    fields: pa.StringArray
    """Path of the refusing field per record, as ``items[].price``; null where no field is to blame."""


def refused_with(refused: Refused | None, others: Rows, word: str) -> Refused:
    """Return what the parser refused, if anything, together with other records of the batch that are refused.

    Args:
        refused: None: the parser has refused none.
        others: their rows, ascending; at least one if the parser has refused none.
        word: why they are refused.
    """
    reasons: pa.Array[Any] = pa.repeat(word, len(others))
    fields: pa.Array[Any] = pa.nulls(len(others), pa.string())
    if refused is not None:
        rows = np.concatenate([refused.rows, others])
        order = np.argsort(rows, kind="stable")
        both = [[refused.reasons, reasons], [refused.fields, fields]]
        reasons, fields = (pa.concat_arrays(cast("Any", some)).take(pa.array(order)) for some in both)
        others, word = rows[order], refused.reason
    return Refused(others, word, cast("pa.StringArray", reasons), cast("pa.StringArray", fields))


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parser's result for a batch."""

    rows: pa.StructArray | None = None
    """The records that were not refused as rows, in their order, null for a tombstone. None: the parser makes none."""
    refused: Refused | None = None
    """None: all records are what they must be."""
    adjusted: Adjusted | None = None
    """Adjusted values of accepted records; None: none."""
    kept: Rows | None = None
    """Kept rows of the batch, ascending; `refused` and `adjusted` count places among these. None: all rows."""

    def without(self, left_out: "npt.NDArray[np.bool_]", records: int, rows: pa.StructArray) -> "Parsed":
        """Return a copy without accepted records that are left out.

        Args:
            left_out: of each of `self.rows`.
            records: of the batch.
            rows: those that stay.
        """
        refused = np.zeros(0, np.int64) if self.refused is None else self.refused.rows
        out = np.delete(np.arange(records), refused)[left_out]
        kept = np.delete(np.arange(records), out)
        moved = refused - np.searchsorted(out, refused)
        told = None if self.refused is None else replace(self.refused, rows=moved)
        return Parsed(rows, told, None if self.adjusted is None else self.adjusted.among(kept), kept)

    def because(self, problem: str | None) -> "Parsed":
        """Return a copy whose reason for the first refused record says more; unchanged if nothing more is known."""
        if self.refused is None or problem is None:
            return self
        return replace(self, refused=replace(self.refused, reason=f"{self.refused.reason}: {bounded(problem)}"))


def bounded(problem: str) -> str:
    """Return what is wrong with a schema of somebody else, whose names may be of any length, for logs and status."""
    return problem if len(problem) <= MOST_TOLD else f"{problem[: MOST_TOLD // 2]}…{problem[-MOST_TOLD // 2 :]}"


class Parser(Protocol):
    """Looks at values."""

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        """Return which rows of `batch` (columns of `records.schema`) are what they must be, and what they are."""
