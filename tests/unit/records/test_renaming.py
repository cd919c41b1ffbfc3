"""Columns with other names than values have: with every parser, in structs, beside what is kept."""

import json
from typing import Any

import msgpack
import pytest

from logpersister.records.type_layout import make_parser
from logpersister.values.reading.columns import row_columns
from logpersister.values.value import ValueSpec
from tests.unit.formats.samples import Record, batch
from tests.unit.records.avro_samples import KnownWriters, encoded
from tests.unit.records.judging import judged
from tests.values import columns_of

FIELDS = [
    {"name": "id", "type": "int64", "required": True},
    {"name": "user", "type": "struct<id: int64, phone: string not null>"},
]
RENAME = [{"field": "id", "to": "number"}, {"field": "user", "to": "id"}, {"field": "user.phone", "to": "user"}]
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


def value_of(kind: str = "json", block: dict[str, Any] | None = None, **beside: Any) -> ValueSpec:
    return ValueSpec.model_validate({kind: block or {"fields": FIELDS}, "rename": RENAME, **beside})


def rows_and_refused(value: ValueSpec, values: list[bytes | None]) -> tuple[list[Any], list[Any]]:
    """Return what is made of values."""
    parser, schema = value.parser, value.row_schema
    assert schema is not None
    made = make_parser(parser, schema, WRITERS if parser.type == "avro" else None)
    assert made is not None
    records = batch([Record(offset, 0, None, value) for offset, value in enumerate(values)])
    parsed = made.parse(records)
    assert parsed.rows is not None
    assert [field.name for field in parsed.rows.type] == row_columns(schema).names
    return judged(parsed)


@pytest.mark.parametrize(
    ("kind", "block", "value", "bad", "field"),
    [
        ("json", {}, json.dumps(VALUE).encode(), b'{"id": 1, "user": {"phone": 3}}', "user.phone"),
        ("messagepack", {}, msgpack.packb(VALUE), msgpack.packb({"id": "x"}), "id"),
        ("avro", {"registry": {"url": "http://r:1"}}, encoded(AVRO, VALUE | {"more": 3}, 7), b"", None),
        ("protobuf", {"schema": PROTO}, b"\x08\x01\x12\x07\x08\x05\x12\x03030",
         b"\x08\x01\x12\x02\x08\x05", "user.phone"),
        ("thrift", {"idl": THRIFT, "struct": "E"},
         b"\x0a\0\x01\0\0\0\0\0\0\0\x01\x0c\0\x02\x0a\0\x01\0\0\0\0\0\0\0\x05\x0b\0\x02\0\0\0\x03030\0\0", b"\0", "id"),
    ],
)  # fmt: skip
def test_every_parser(kind: str, block: dict[str, Any], value: bytes, bad: bytes, field: str | None) -> None:
    rows, refused = rows_and_refused(value_of(kind, {"fields": FIELDS, **block}), [value, bad, None, value])
    assert (rows[0], rows[-2:]) == (ROW, [None, ROW])
    assert [one[2] for one in refused] == [field]


def test_lines() -> None:
    fields = [{"name": "id", "type": "int64"}, {"name": "note", "type": "string"}]
    rename = [{"field": "note", "to": "text"}]
    for kind, more in (("csv", {}), ("regex", {"pattern": "(?P<id>[^,]*),(?P<note>.*)"})):
        rows, refused = rows_and_refused(value_of(kind, {"fields": fields, **more}, rename=rename), [b"1,a", b"x,a"])
        assert (rows, refused) == ([{"id": 1, "text": "a"}], [(1, "bad_text", "id")])


def test_what_is_unknown_is_named_as_in_values_and_beside_all_else() -> None:
    block = {"fields": FIELDS, "unknownFields": "keep", "faults": {"wrongType": "convert"}}
    schema = columns_of({"json": block, "rename": RENAME}, {"text": {}})
    assert [one.name for one in schema.columns] == ["number", "id", "_rest", "key"]
    value = b'{"id": "1", "number": 2, "user": {"phone": 30, "user": 3}, "_rest": 4}'
    made = make_parser(value_of("json", block).parser, schema)
    assert made is not None
    parsed = made.parse(batch([Record(0, 0, b"k", value), Record(1, 0, None, None), Record(2, 0, b"\xff", value)]))
    kept = '{"number":2,"user":{"user":3},"_rest":4}'
    row = {"number": 1, "id": {"id": None, "user": "30"}, "_rest": kept, "key": "k"}
    assert judged(parsed) == ([row, dict.fromkeys(row)], [(2, "not_utf8", "key")])
    assert parsed.adjusted is not None
    told = {("wrong_type", "id"): 1, ("wrong_type", "user.phone"): 1}
    assert parsed.adjusted.counts() == told, "not of the record whose key is refused"
