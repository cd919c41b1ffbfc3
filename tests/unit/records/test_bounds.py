"""Values at and beyond the bounds of their columns: exact, refused, or null by choice, whatever the parser is."""

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

import msgpack
import pytest

from logpersister.records.type_layout import make_parser
from logpersister.values.avro.source import AvroSource
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.regex.block import RegexSpec
from logpersister.values.row_schema import RowSchema
from logpersister.verify.comparison import same
from tests.unit.records.avro_samples import encoded
from tests.unit.records.judging import Judged, alone, judged_by
from tests.unit.records.row_samples import batch_of_values

REFUSED: Final = "overflow"
INFINITY: Final = 9_223_372_036_825_200_000
"""What Debezium writes for PostgreSQL's `infinity`, in microseconds."""


def schema_of(type_: str, **more: Any) -> RowSchema:
    return RowSchema((FieldSpec(name="a", type=type_),), **more)


def judged(parser: Mapping[str, Any], schema: RowSchema, values: list[bytes | None]) -> Judged:
    """Return what the native parser makes of values, one by one and together."""
    spec = Parsing.model_validate(parser)
    made = make_parser(spec, schema, None)
    assert made is not None
    found, again = judged_by(made, values), alone(made, values)
    assert same(list(found), list(again)), (found, again)
    return found


def assert_bounds(parser: Mapping[str, Any], schema: RowSchema, values: list[bytes], expected: list[Any]) -> None:
    """Look at each value: what it becomes, or why it is refused; and with the choice that it is null then."""
    rows, refused = judged(parser, schema, [*values])
    assert [place for place, reason, path in refused if (reason, path) == (REFUSED, "a")] == [
        place for place, one in enumerate(expected) if one == REFUSED
    ]
    assert same([row["a"] for row in rows], [one for one in expected if one != REFUSED])
    rows, refused = judged({**parser, "faults": {"overflow": "setNull"}}, schema, [*values])
    assert same([row["a"] for row in rows], [None if one == REFUSED else one for one in expected])
    assert not refused


WHOLE: Final[Mapping[str, tuple[list[int], list[Any]]]] = {
    "float64": (
        [2**53, 2**53 + 1, -(2**53) - 1, 2**53 + 2, 2**63 - 1, -(2**63)],
        [2.0**53, REFUSED, REFUSED, 2.0**53 + 2, REFUSED, -(2.0**63)],
    ),
    "float32": ([2**24, 2**24 + 1, -(2**24) - 1, 2**24 + 2], [2.0**24, REFUSED, REFUSED, 2.0**24 + 2]),
}
"""Whole numbers by the column that they become, and what stands there."""


@pytest.mark.parametrize("type_", WHOLE)
@pytest.mark.parametrize("parser", ["avro", "json", "messagepack", "csv", "regex"])
def test_a_float_holds_a_whole_number_exactly_or_not_at_all(type_: str, parser: str) -> None:
    numbers, expected = WHOLE[type_]
    written = {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "long"]}]}
    if parser == "avro":
        values = [encoded(written, {"a": number})[5:] for number in numbers]
    elif parser == "messagepack":
        values = [bytes(msgpack.packb({"a": number})) for number in numbers]
    else:
        values = [(json.dumps({"a": number}) if parser == "json" else str(number)).encode() for number in numbers]
    more: dict[str, Any] = {"avro": {"framing": "plain"}, "regex": {"syntax": RegexSpec(pattern="(?P<a>.*)")}}
    schema = (
        schema_of(type_, source=AvroSource(writers=(json.dumps(written),))) if parser == "avro" else schema_of(type_)
    )
    assert_bounds({"type": parser, **more.get(parser, {})}, schema, values, expected)


def test_a_union_of_long_and_double_is_exact() -> None:
    written = {"type": "record", "name": "M", "fields": [{"name": "a", "type": ["null", "long", "double"]}]}
    schema = RowSchema(source=AvroSource(json.dumps(written)))
    assert [(one.path, one.is_left_out) for one in schema.remarks] == [("a", False)]
    values = [b"\x02" + _zigzag(one) for one in (2**53 + 1, 2**63 - 1, 7)] + [b"\x04" + struct.pack("<d", 1.5)]
    assert_bounds({"type": "avro", "framing": "plain"}, schema, values, [REFUSED, REFUSED, 7.0, 1.5])


def test_one_infinite_time_costs_no_row() -> None:
    fields = [
        {"name": "a", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "all", "type": ["null", {"type": "array", "items": ["null", {"type": "int", "logicalType": "date"}]}]},
    ]
    written = {"type": "record", "name": "R", "fields": fields}
    schema, parser = RowSchema(source=AvroSource(json.dumps(written))), {"type": "avro", "framing": "plain"}
    values: list[bytes | None] = [
        encoded(written, {"a": INFINITY, "day": 2**31 - 1, "all": [0, -(2**31)]})[5:],
        encoded(written, {"a": -1, "day": -1, "all": None})[5:],
        b"\x02",
    ]
    rows, refused = judged(parser, schema, values)
    assert rows == [{"a": -1, "day": -1, "all": None}]
    assert refused == [(0, "overflow", "a"), (2, "not_avro", None)]
    rows, refused = judged({**parser, "faults": {"overflow": "setNull"}}, schema, values)
    assert rows == [{"a": None, "day": None, "all": [0, None]}, {"a": -1, "day": -1, "all": None}]
    assert refused == [(2, "not_avro", None)]
    made = make_parser(Parsing.model_validate({**parser, "faults": {"overflow": "setNull"}}), schema, None)
    assert made is not None
    adjusted = made.parse(batch_of_values(values)).adjusted
    assert adjusted is not None
    assert list(adjusted.kinds) == [("overflow", "a"), ("overflow", "day"), ("overflow", "all[]")]


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _zigzag(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)
