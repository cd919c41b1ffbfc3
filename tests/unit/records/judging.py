"""What a parser makes of values, and what an oracle makes of the same ones, in one form."""

from typing import Any

from logpersister.formats.file_rows import plain
from logpersister.values.reading.parsers import Parsed, Parser
from tests.judges.refusal import RefusalError
from tests.judges.rows import RowOracle
from tests.unit.records.row_samples import batch_of_values

Judged = tuple[list[Any], list[Any]]
"""Rows, and for each refused value its place, reason and field."""


def judged_by(parser: Parser, values: list[bytes | None]) -> Judged:
    return judged(parser.parse(batch_of_values(values)))


def judged(parsed: Parsed) -> Judged:
    assert parsed.rows is not None
    refused = parsed.refused
    if refused is None:
        return plain(parsed.rows).to_pylist(), []
    why = zip(refused.rows.tolist(), refused.reasons.to_pylist(), refused.fields.to_pylist(), strict=True)
    return plain(parsed.rows).to_pylist(), list(why)


def alone(parser: Parser, values: list[bytes | None]) -> Judged:
    """Return what a parser makes of each value alone."""
    rows: list[Any] = []
    refused: list[Any] = []
    for place, value in enumerate(values):
        row, why = judged_by(parser, [value])
        rows += row
        refused += [(place, *more) for _, *more in why]
    return rows, refused


def of_oracle(oracle: RowOracle, values: list[bytes | None]) -> Judged:
    rows: list[Any] = []
    refused: list[Any] = []
    for place, value in enumerate(values):
        try:
            rows.append(None if value is None else oracle.row(value))
        except RefusalError as error:
            refused.append((place, error.reason, error.path or None))
    return rows, refused
