"""Ways to deal with values that do not fit, and what has to hold of each."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.reading.parsers import Parsed, Parser
from logpersister.values.row_schema import RowSchema
from tests.unit.records.judging import judged
from tests.unit.records.row_samples import batch_of_values

ALL = FaultsSpec(
    wrong_type="convert", overflow="setNull", bad_text="setNull", duplicates="last", invalid_utf8="replace"
)

_some = st.builds(
    FaultsSpec,
    wrong_type=st.sampled_from(["refuse", "setNull", "convert"]),
    overflow=st.sampled_from(["refuse", "setNull"]),
    bad_text=st.sampled_from(["refuse", "setNull"]),
    duplicates=st.sampled_from(["refuse", "first", "last"]),
    invalid_utf8=st.sampled_from(["refuse", "replace"]),
)
faults = st.just(REFUSED) | st.just(ALL) | _some
unknown = st.sampled_from(["drop", "keep", "refuse"])


def kept(schema: RowSchema, unknown_fields: str) -> RowSchema:
    """Return a schema with a column of what is unknown, if that is kept."""
    return replace(schema, rest_column="_rest" if unknown_fields == "keep" else None)


def assert_adjusted(parser: Parser, strict: Parser, values: list[bytes | None]) -> None:
    """Whatever values are: what a strict parser accepts becomes the same row, and all else that is accepted is told."""
    batch = batch_of_values(values)
    with_faults, without = parser.parse(batch), strict.parse(batch)
    rows, _ = judged(with_faults)
    of_records = dict(zip(_accepted(with_faults, len(values)), rows, strict=True))
    others = {*of_records} - {*_accepted(without, len(values))}
    strictly: list[Any] = judged(without)[0]
    for place, row in zip(_accepted(without, len(values)), strictly, strict=True):
        assert repr(of_records[place]) == repr(row), values[place]
    told = set() if with_faults.adjusted is None else {*with_faults.adjusted.records.tolist()}
    assert told == others


def _accepted(parsed: Parsed, records: int) -> list[int]:
    refused = np.array([], np.int64) if parsed.refused is None else parsed.refused.rows
    accepted: list[int] = np.delete(np.arange(records), refused).tolist()
    return accepted
