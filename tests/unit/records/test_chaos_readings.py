"""What `make chaos` knows of readings is what the parsers make of them: noticed before a long run."""

import random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from logpersister.manifest import parse
from logpersister.records.quarantine import make_parser
from tests.chaos import readings
from tests.chaos.choices import PARSERS, Choices
from tests.chaos.contents import QUARANTINE, refused_digest, row_digest
from tests.chaos.outputs import Addresses, outputs
from tests.readers.arrow import rows_of
from tests.unit.records.row_samples import batch_of_values

ADDRESSES = Addresses("127.0.0.1:9092", "http://127.0.0.1:9000", "http://127.0.0.1:8081")


def record(value: bytes | None) -> Any:
    return SimpleNamespace(offset=7, timestamp=0, key=b"k", value=value, headers=[])


@pytest.mark.parametrize("parser", PARSERS)
def test_rows_and_reasons_are_those_that_chaos_expects(parser: Any) -> None:
    choices = Choices(parser=parser)
    manifest = outputs(choices)["rows"].manifest(ADDRESSES, session_seconds=20)
    spec = parse(manifest).for_topic(readings.TOPIC).spec
    chance, written = random.Random(parser), readings.Readings(choices)
    values = [value for value in (written.value(chance) for _ in range(2000)) if value is not None]
    expected = [written.seen(record(value), keeps=False) for value in values]
    made = make_parser(spec.parser, spec.row_schema)
    assert made is not None
    parsed = made.parse(batch_of_values([*values]))
    assert parsed.rows is not None
    assert parsed.refused is not None
    rows = [row_digest(row, {}) for row in rows_of(pa.Table.from_struct_array(parsed.rows))]
    assert rows == [one.content for one in expected if one.place != QUARANTINE]
    reasons = zip(parsed.refused.rows.tolist(), parsed.refused.reasons.to_pylist(), strict=True)
    refused = {place: refused_digest(str(reason), values[place]) for place, reason in reasons}
    assert refused == {place: one.content for place, one in enumerate(expected) if one.place == QUARANTINE}
    assert len(set(parsed.refused.reasons.to_pylist())) >= 3, "reasons of several kinds"
