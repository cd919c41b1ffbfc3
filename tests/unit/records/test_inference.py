"""A schema that is inferred from values: which types, and that the parser then takes all of these values."""

import json
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.records.inference import MOST_NAMES, InferredField, Sample
from logpersister.schemas.types import MOST_COLUMNS, NAME, leaves, parse_type
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import RowSchema
from logpersister.values.rows import rows_of
from tests.examples import examples


def fields_of(*values: Any) -> list[InferredField]:
    sample = Sample()
    for value in values:
        sample.add(value if isinstance(value, bytes) else json.dumps(value).encode())
    return sample.fields()


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([2**63], "decimal(38,0)"),
        ([10**38], "json"),
        ([1, 1.5], "float64"),
        ([2**53 + 1, 1.5], "json"),
        ([True, 1], "json"),
        (["2026-02-29"], "string"),
        (["2026-11-21", "2026-11-21T00:00:00Z"], "string"),
        (["2026-11-21T05:00:00Z", "2026-11-21 06:00:00.123+01:00"], "timestamp[ms]"),
        (["0000-11-21T05:00:00Z"], "string"),
        ([[1, 2], [], None], "list<int64>"),
        ([{"a": 1}, {"b": {"c": [True]}}], "struct<a: int64, b: struct<c: list<bool>>>"),
        ([{"a b": 1, "c": 2.5}], "map<string, float64>"),
        ([{"a": [1], "A": [2.5]}], "map<string, list<float64>>"),
        ([{f"user{n}": {"n": n}} for n in range(MOST_NAMES + 1)], "map<string, struct<n: int64>>"),
        ([{f"user{n}": n for n in range(MOST_NAMES)}], f"struct<{', '.join(f'user{n}: int64' for n in range(64))}>"),
    ],
)
def test_the_narrowest_type_that_takes_all(values: list[Any], type_: str) -> None:
    (field,) = fields_of(*({"it": value} for value in values))
    assert str(field.type) == type_
    assert parse_type(type_) == field.type


def test_what_somebody_should_know() -> None:
    shares = {one.name: one.share for one in fields_of({"a": 1, "b": 1}, {"a": 2, "b": None}, {"a": 3}, {"a": 4})}
    assert shares == {"a": 1.0, "b": 0.25}
    remarks = [one.remark for one in fields_of({"a": 1763700000123, "b": None, "c": 1}, {"c": "x"})]
    assert remarks == ["a time? then type timestamp[ms], format epoch[ms]", "always null", "text and whole number"]
    problems = [one.problem for one in fields_of({"a": 1, "A": 2, "kafka_x": 1, "a b": 1, "n" * 65: 1})]
    assert problems == [
        None,
        "differs from a in case only",
        "kafka_ is for Kafka's own fields",
        "a column cannot have this name",
        "a column cannot have this name",
    ]


def test_a_schema_stays_within_its_limits() -> None:
    wide = {name: {f"{name}{n}": n for n in range(400)} for name in "abc"}
    found = fields_of(wide, {**wide, **{f"f{n}": n for n in range(300)}})
    usable = [one for one in found if one.problem is None]
    assert len(usable) == 256
    assert {"a", "b", "c"} <= {one.name for one in usable}
    assert sum(1 for one in usable for _ in leaves(one.type)) <= MOST_COLUMNS
    assert next(one.problem for one in found if one.problem) == "a schema has at most 256 fields"
    assert [one.name for one in fields_of({f"f{n}": n for n in range(300)}) if one.problem] == [
        f"f{n}" for n in range(256, 300)
    ]
    deep: Any = 1
    for _ in range(30):
        deep = [deep]
    assert str(fields_of({"it": deep})[0].type).count("list") == 14


_CHARACTERS = st.sampled_from("abAZ_@$-9") | st.characters(min_codepoint=0x80, codec="utf-8")
_NAMES = st.text(_CHARACTERS, max_size=20).filter(lambda name: re.fullmatch(NAME, name)) | st.sampled_from(
    ["a", "b", "at"]
)
_TEXTS = st.text(max_size=5) | st.datetimes().map(lambda at: at.isoformat() + "Z") | st.dates().map(str)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES | st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@examples(100)
@given(st.lists(st.dictionaries(_NAMES, _VALUES, max_size=4), min_size=1, max_size=6))
def test_the_parser_takes_every_value_of_the_sample(objects: list[dict[str, Any]]) -> None:
    fields = [one for one in fields_of(*objects) if one.problem is None]
    if not fields:
        return
    schema = RowSchema(fields=tuple(FieldSpec(name=one.name, type=str(one.type)) for one in fields))
    values = pa.array([json.dumps(one).encode() for one in objects], pa.binary())
    parsed = rows_of(Parsing(type="json"), schema).parse(pa.record_batch({"value": values}))
    assert parsed.refused is None, (parsed.refused.reason, [str(one.type) for one in fields])
