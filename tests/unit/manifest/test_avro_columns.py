"""Columns for an Avro schema: by hand, and whatever it writes fits them; plain types are in docs/schemas.md."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.types import Struct
from logpersister.values.avro.columns import columns_of
from logpersister.values.avro.rows import AvroRows
from logpersister.values.field import FieldSpec
from logpersister.values.row_schema import RowSchema
from tests.examples import examples
from tests.unit.records.avro_samples import KnownWriters, encoded, topics
from tests.unit.records.row_samples import batch_of_values


def record(*types: Any, **more: Any) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": type_} for number, type_ in enumerate(types)]
    return {"type": "record", "name": "Click", "namespace": "acme", "fields": fields, **more}


def logical(base: str, means: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": means, **more}


POINT = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": "float"}]}


@pytest.mark.parametrize(
    ("written", "type_", "remark"),
    [
        (["int", "long", "null"], "int64", "int, long, null"),
        (["int", "double"], "float64", "int, double"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "string", "E"),
        (logical("fixed", "uuid", name="U", size=16), "string", "U (uuid)"),
        (logical("long", "local-timestamp-nanos"), "timestamp[ns]", "long (local-timestamp-nanos)"),
        (["null", logical("bytes", "decimal", precision=9, scale=2)], "decimal(9,2)", "null, bytes (decimal)"),
        (logical("bytes", "decimal", precision=80, scale=2), "binary[base64]", "bytes (decimal)"),
        ({"type": "array", "items": ["null", "string"]}, "list<string>", "array"),
        (["null", "string", "long"], None, "it is one of several types"),
        ("null", None, "it is always null"),
        (["null", "acme.Click"], None, "it has no fields that can be columns"),
        (record(namespace="b"), None, "it has no fields"),
        ({"type": "array", "items": "Nobody"}, None, "its type Nobody is not known"),
    ],
    ids=str,
)
def test_a_column_by_hand(written: Any, type_: str | None, remark: str) -> None:
    [found] = columns_of(json.dumps(record(written)))
    assert (found.name, None if found.type is None else str(found.type), found.remark) == ("f0", type_, remark)


@pytest.mark.parametrize(
    ("written", "good", "bad"),
    [
        ("int", [0, -(2**31)], [2**31, 1.5, True, "1"]),
        ("string", ["", "\u00e4"], [1, []]),
        ("bytes", ["\u00ff"], ["\u0100", 1]),
        (["null", "int"], [None, 1], ["1"]),
        (logical("bytes", "decimal", precision=2, scale=1), ["\u0063", ""], ["\u0064", 1]),
        (logical("long", "timestamp-millis"), [5], ["2026-11-24T00:00:00Z"]),
        ({"type": "array", "items": ["null", "int"]}, [[], [1, None]], [[True], {}, 1]),
        ({"type": "map", "values": "int"}, [{}, {"a": 1}], [{"a": None}, [1]]),
        (POINT, [{"x": 1, "y": 2}], [{"x": 1}, {"x": 1, "y": "2"}, []]),
    ],
    ids=str,
)
def test_a_default_must_fit_its_type(written: Any, good: list[Any], bad: list[Any]) -> None:
    for defaults, fits in ((good, True), (bad, False)):
        for default in defaults:
            schema = record(written)
            schema["fields"][0]["default"] = default
            [found] = columns_of(json.dumps(schema), as_reader=True)
            assert (found.type is not None) == fits, default
            assert fits or found.remark == "the default of f0 does not fit its type"
            [found] = columns_of(json.dumps(schema))
            assert found.type is not None, "it counts only for who reads by the schema"


def test_a_few_records_that_stand_for_any_number_of_columns() -> None:
    """Each has the next one ten times: 10^14 columns, which must not be made."""
    inner: Any = "int"
    for depth in range(14):
        fields = [{"name": "f0", "type": inner}, *({"name": f"f{n}", "type": f"R{depth - 1}"} for n in range(1, 10))]
        fields = fields if depth else fields[:1]
        inner = {"type": "record", "name": f"R{depth}", "fields": fields}
    [found] = columns_of(json.dumps(record(inner)), as_reader=True)
    assert (found.type, found.remark) == (None, "it has more than 1000 columns at all depths together")


def test_columns_of_a_reader() -> None:
    """What has no null is required, at every depth; defaults and other names are kept."""
    inner = record("int", ["null", "int"])
    inner["fields"][0] |= {"default": 3, "aliases": ["old"]}
    written = record({"type": "array", "items": ["null", "long"]}, {"type": "map", "values": "string"}, ["null", inner])
    written["fields"][1]["default"] = {"a": "b"}
    written["fields"][2] |= {"default": None, "aliases": ["one", "two"]}
    inner["name"] = "Inner"
    text = json.dumps(written)
    assert [(str(one.type), one.required, one.default, one.aliases) for one in columns_of(text, as_reader=True)] == [
        ("list<int64>", True, None, ()),
        ("map<string, string not null>", True, '{"a": "b"}', ()),
        ("struct<f0: int32 not null, f1: int32>", False, None, ("one", "two")),
    ]
    [*_, last] = columns_of(text, as_reader=True)
    assert isinstance(last.type, Struct)
    assert [(one.default, one.aliases) for one in last.type.members] == [("3", ("old",)), (None, ())]
    assert {(one.required, one.default, one.aliases) for one in columns_of(text)} == {(False, None, ())}


@pytest.mark.parametrize("text", ["", '"string"', "[]", "{}", '{"type": "record", "name": "a"}', "[" * 5000])
def test_what_has_no_columns(text: str) -> None:
    with pytest.raises(SchemaTextError):
        columns_of(text)


@pytest.mark.slow
@examples(200)
@given(st.data())
def test_whatever_a_schema_writes_fits_its_columns(data: st.DataObject) -> None:
    written, _, values = data.draw(topics())
    fields = [one for one in columns_of(json.dumps(written)) if one.type is not None]
    if fields:
        columns = RowSchema(fields=tuple(FieldSpec(name=one.name, type=str(one.type)) for one in fields))
        found: list[bytes | None] = [encoded(written, one) for one in data.draw(st.lists(values, max_size=4))]
        refused = AvroRows(columns, "confluent", KnownWriters({1: written})).parse(batch_of_values(found)).refused
        # A value may be what its logical type does not allow; its schema never is.
        assert refused is None or set(refused.reasons.to_pylist()) <= {"overflow", "not_utf8"}
