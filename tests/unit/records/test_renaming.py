"""Columns with other names than values have: with every parser, in structs, beside what is kept and left out."""

import json
from typing import Any

import msgpack
import pytest

from logpersister.manifest.output import OutputSpec
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.quarantine import layout_of, make_parser
from tests.unit.formats.samples import Record, batch
from tests.unit.records.avro_samples import KnownWriters, encoded
from tests.unit.records.judging import judged

FIELDS = [
    {"name": "id", "type": "int64", "required": True},
    {"name": "user", "type": "struct<id: int64, phone: string not null>"},
]
RENAME = [
    {"field": "id", "to": "number"},
    {"field": "user", "to": "id"},
    {"field": "user.phone", "to": "user"},
]
AVRO = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "user", "type": ["null", {"type": "record", "name": "User", "fields": [
            {"name": "id", "type": "long"}, {"name": "phone", "type": "string"}]}]},
        {"name": "more", "type": "long"},
    ],
}  # fmt: skip
WRITERS = KnownWriters({7: AVRO})
PROTO = (
    "message E { required int64 id = 1; optional U user = 2; }"
    " message U { optional int64 id = 1; required string phone = 2; }"
)
THRIFT = "struct U { 1: i64 id, 2: required string phone } struct E { 1: required i64 id, 2: U user }"
ROW = {"number": 1, "id": {"id": 5, "user": "030"}}
VALUE = {"id": 1, "user": {"id": 5, "phone": "030"}}


def schema_of(**more: Any) -> SchemaSpec:
    return SchemaSpec.model_validate({"rename": RENAME, **({} if "avro" in more else {"fields": FIELDS}), **more})


def rows_and_refused(parser: ParserSpec, schema: SchemaSpec, values: list[bytes | None]) -> tuple[list[Any], list[Any]]:
    """Return what the parser makes of values."""
    made = make_parser(parser, schema, WRITERS if parser.type == "avro" else None)
    assert made is not None
    records = batch([Record(offset, 0, None, value) for offset, value in enumerate(values)])
    parsed = made.parse(records)
    assert parsed.rows is not None
    assert [field.name for field in parsed.rows.type] == row_columns(schema).names
    return judged(parsed)


@pytest.mark.parametrize(
    ("parser", "schema", "value", "bad", "field"),
    [
        ({"type": "json"}, {}, json.dumps(VALUE).encode(), b'{"id": 1, "user": {"phone": 3}}', "user.phone"),
        ({"type": "messagepack"}, {}, msgpack.packb(VALUE), msgpack.packb({"id": "x"}), "id"),
        ({"type": "avro"}, {"registry": {"url": "http://r:1"}}, encoded(AVRO, VALUE | {"more": 3}, 7), b"", None),
        ({"type": "protobuf", "framing": "plain"}, {"protobuf": PROTO}, b"\x08\x01\x12\x07\x08\x05\x12\x03030",
         b"\x08\x01\x12\x02\x08\x05", "user.phone"),
        ({"type": "thrift"}, {"thrift": {"idl": THRIFT, "struct": "E"}},
         b"\x0a\0\x01\0\0\0\0\0\0\0\x01\x0c\0\x02\x0a\0\x01\0\0\0\0\0\0\0\x05\x0b\0\x02\0\0\0\x03030\0\0", b"\0", "id"),
    ],
    ids=lambda one: one.get("type") if isinstance(one, dict) else None,
)  # fmt: skip
def test_every_parser(parser: Any, schema: Any, value: bytes, bad: bytes, field: str | None) -> None:
    rows, refused = rows_and_refused(ParserSpec.model_validate(parser), schema_of(**schema), [value, bad, None, value])
    assert (rows[0], rows[-2:]) == (ROW, [None, ROW])
    assert [one[2] for one in refused] == [field]


def test_lines() -> None:
    fields = [{"name": "id", "type": "int64"}, {"name": "note", "type": "string"}]
    schema = SchemaSpec.model_validate({"fields": fields, "rename": [{"field": "note", "to": "text"}]})
    for parser in ({"type": "csv"}, {"type": "regex", "regex": {"pattern": "(?P<id>[^,]*),(?P<note>.*)"}}):
        rows, refused = rows_and_refused(ParserSpec.model_validate(parser), schema, [b"1,a", b"x,a"])
        assert (rows, refused) == ([{"id": 1, "text": "a"}], [(1, "bad_text", "id")])


def test_what_is_unknown_is_named_as_in_values_and_beside_all_else() -> None:
    parser = ParserSpec.model_validate({"type": "json", "unknownFields": "keep", "faults": {"wrongType": "convert"}})
    schema = schema_of(key={}).with_rest("_rest")
    assert [one.name for one in schema.columns] == ["number", "id", "_rest", "key"]
    value = b'{"id": "1", "number": 2, "user": {"phone": 30, "user": 3}, "_rest": 4}'
    made = make_parser(parser, schema)
    assert made is not None
    parsed = made.parse(batch([Record(0, 0, b"k", value), Record(1, 0, None, None), Record(2, 0, b"\xff", value)]))
    kept = '{"number":2,"user":{"user":3},"_rest":4}'
    row = {"number": 1, "id": {"id": None, "user": "30"}, "_rest": kept, "key": "k"}
    assert judged(parsed) == ([row, dict.fromkeys(row)], [(2, "not_utf8", "key")])
    assert parsed.adjusted is not None
    told = {("wrong_type", "id"): 1, ("wrong_type", "user.phone"): 1}
    assert parsed.adjusted.counts() == told, "not of the record whose key is refused"


def test_what_is_left_out_is_named_as_columns_are() -> None:
    schema = schema_of(avro=json.dumps(AVRO), registry={"url": "http://r:1"}, drop=["id", "more"])
    assert [one.name for one in schema.columns] == ["number"]
    assert [one.name for one in schema.as_written.columns] == ["id"]
    assert schema.as_written.as_written == schema.as_written
    rows, _ = rows_and_refused(ParserSpec(type="avro"), schema, [encoded(AVRO, VALUE | {"more": 3}, 7)])
    assert rows == [{"number": 1}]


def test_what_is_hidden_is_named_as_columns_are() -> None:
    schema = schema_of(mask=[{"fields": ["id.user"], "keepLast": 1}])
    rows, _ = rows_and_refused(
        ParserSpec(type="json"), schema, [json.dumps(VALUE).encode(), b'{"id": 1, "user": null}']
    )
    assert rows == [{"number": 1, "id": {"id": 5, "user": "***0"}}, {"number": 1, "id": None}]


def test_folders_are_of_columns() -> None:
    output = OutputSpec.model_validate({"format": "jsonl", "partitionBy": [{"field": "id.user"}]})
    parser, schema = ParserSpec(type="json"), schema_of()
    records = batch([Record(0, 0, None, json.dumps(VALUE).encode())])
    assert layout_of(output, parser, schema).assign(records).paths == ["user=030"]
