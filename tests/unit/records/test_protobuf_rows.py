"""Rows of protobuf messages: the native parser against the official library."""

import math
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from logpersister.values.field import FieldSpec
from logpersister.values.parser import Framing
from logpersister.values.protobuf.rows import ProtobufRows, misfit
from logpersister.values.protobuf.source import ProtobufSource
from logpersister.values.reading.writers import WriterSchema
from logpersister.values.row_schema import RowSchema
from tests.examples import examples
from tests.unit.records.avro_samples import KnownWriters
from tests.unit.records.judging import Judged, judged_by
from tests.unit.records.protobuf_samples import Field, class_of, damaged, files, text_of


def judged(
    schema: RowSchema, values: list[bytes | None], writers: KnownWriters | None = None, framing: Framing = "plain"
) -> Judged:
    """Return what the native parser makes of values: rows, and for each refused one its place, reason and field."""
    return judged_by(ProtobufRows(schema, framing, writers), values)


def row_of(message: Any) -> dict[str, Any]:
    """Return the row of a message as the official library has read it."""
    return {field.name: _column(message, field) for field in message.DESCRIPTOR.fields}


def _column(message: Any, field: Any) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields
        return [(_text(key, one), _scalar(value, inner)) for one, inner in getattr(message, field.name).items()]
    if field.is_repeated:
        return [_value(field, one) for one in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _value(field, getattr(message, field.name))


def _value(field: Any, value: Any) -> Any:
    return row_of(value) if field.message_type is not None else _scalar(field, value)


def _scalar(field: Any, value: Any) -> Any:
    if field.type == Field.TYPE_ENUM:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    return Decimal(value) if field.type in (Field.TYPE_UINT64, Field.TYPE_FIXED64) else value


def _text(field: Any, key: Any) -> str:
    return str(key).lower() if field.type == Field.TYPE_BOOL else str(key)


def _plain(value: Any) -> Any:
    """Return a value without the order of maps, and NaN as something that is equal to itself."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        if all(isinstance(one, tuple) for one in value):
            return sorted((name, _plain(one)) for name, one in value)
        return [_plain(one) for one in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.slow
@examples(200)
@given(st.data())
def test_values_are_what_the_official_library_reads(data: st.DataObject) -> None:
    file = data.draw(files(well_known=False))
    made = class_of(file)
    schema = RowSchema(source=ProtobufSource(text_of(file)))
    values: list[bytes | None] = data.draw(st.lists(damaged(made), min_size=1, max_size=4))
    rows, refused = judged(schema, values)
    reasons = {place: reason for place, reason, _ in refused}
    found = iter(rows)
    for place, value in enumerate(values):
        message: Any = made()
        try:
            message.ParseFromString(value)
        except DecodeError:
            assert reasons[place] in ("not_protobuf", "not_utf8"), (value, reasons)
            continue
        if place in reasons:  # what it stores as text may be none in proto2
            assert (reasons[place], file.syntax) in (("not_utf8", "proto2"), ("not_utf8", "")), (value, reasons)
            continue
        assert _plain(next(found)) == _plain(row_of(message))


PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";

message Order {
  int64 id = 1;
  optional string note = 2;
  Kind kind = 3;
  Address address = 4;
  repeated int32 sizes = 5;
  map<string, int64> counts = 6;
  oneof payment { string card = 7; Address invoice = 8; }
  google.protobuf.Timestamp at = 9;
  google.protobuf.Struct extra = 10;
  google.protobuf.Int64Value limit = 11;
  uint64 hash = 12;
  message Address { string city = 1; string zip = 2; }
  enum Kind { UNKNOWN = 0; WEB = 1; SHOP = 2; WEBSITE = -1; }
}
message Return { int64 id = 1; string why = 2; }
"""
ORDER = RowSchema(source=ProtobufSource(PROTO))
EMPTY: dict[str, Any] = {
    "id": 0, "note": None, "kind": "UNKNOWN", "address": None, "sizes": [], "counts": [], "card": None, "invoice": None,
    "at": None, "extra": None, "limit": None, "hash": Decimal(0),
}  # fmt: skip

CASES: list[tuple[str, bytes, dict[str, Any]]] = [
    ("nothing", b"", {}),
    ("a number of ten bytes", b"\x08" + b"\xff" * 9 + b"\x01", {"id": -1}),
    ("more bytes than needed", b"\x88\x00\x80\x00", {"id": 0}),
    ("an enum", b"\x18\x01", {"kind": "WEB"}),
    ("an enum without a name", b"\x18\x07", {"kind": "7"}),
    ("merged", b"\x22\x03\x0a\x01a\x08\x05\x22\x03\x12\x01b", {"id": 5, "address": {"city": "a", "zip": "b"}}),
    ("both", b"\x28\x01\x2a\x01\x02\x2a\x00", {"sizes": [1, 2]}),
    ("a map", b"\x32\x05\x0a\x01a\x10\x05\x32\x05\x10\x06\x0a\x01b", {"counts": [("a", 5), ("b", 6)]}),
    (
        "a key twice",
        b"\x32\x05\x0a\x01a\x10\x05\x32\x05\x0a\x01b\x10\x06\x32\x03\x0a\x01a",
        {"counts": [("b", 6), ("a", 0)]},
    ),
    ("a oneof, back again", b"\x42\x03\x0a\x01a\x3a\x01x\x42\x03\x12\x01b", {"invoice": {"city": "", "zip": "b"}}),
    ("a timestamp", b"\x4a\x05\x08\x02\x10\xe8\x07", {"at": 2_000_001}),
    ("JSON", b"\x52\x0f\x0a\x0d\x0a\x01a\x12\x08\x32\x06\x0a\x04\x1a\x02\xc3\xa9", {"extra": '{"a":["é"]}'}),
    (
        "unknown fields",
        b"\xa0\x06\x01\xa3\x06\x08\x01\xa4\x06\xa5\x06\0\0\0\0\xa1\x06\0\0\0\0\0\0\0\0\xa2\x06\x01x",
        {},
    ),
    ("another wire type is none of the oneof", b"\x3a\x01x\x40\x01", {"card": "x"}),
]
REFUSED: list[tuple[bytes, str, str | None]] = [
    (b"\x08" + b"\x80" * 10 + b"\0", "not_protobuf", None),
    (b"\x00\x00", "not_protobuf", None),
    (b"\x0c", "not_protobuf", None),
    (b"\xa3\x06\xac\x06", "not_protobuf", None),
    (b"\xa3\x06" * 101 + b"\xa4\x06" * 101, "too_deep", None),
    (b"\x12\x01\xff", "not_utf8", "note"),
    (b"\x22\x03\x0a\x01\xff", "not_utf8", "address.city"),
    (b"\x2a\x01\x80", "not_protobuf", "sizes[]"),
    (b"\x32\x03\x0a\x01\xff", "not_utf8", "counts{}"),
    (b"\x4a\x0b\x08" + b"\xff" * 8 + b"\x7f\x00", "not_protobuf", "at"),
    (b"\x4a\x0a\x08" + b"\xff" * 8 + b"\x7f", "overflow", "at"),
    (b"\x52\x10\x0a\x0e\x0a\x01a\x12\x09\x11\0\0\0\0\0\0\xf0\x7f", "overflow", "extra"),
]


def test_cases_by_hand() -> None:
    values: list[bytes | None] = [value for _, value, _ in CASES]
    rows, refused = judged(ORDER, values)
    assert refused == []
    assert [(name, row) for (name, _, _), row in zip(CASES, rows, strict=True)] == [
        (name, EMPTY | row) for name, _, row in CASES
    ]


def test_refused_values_do_not_touch_their_neighbours() -> None:
    values: list[bytes | None] = []
    for value, _, _ in REFUSED:
        values += [CASES[5][1], value]
    rows, refused = judged(ORDER, values)
    assert rows == [EMPTY | CASES[5][2]] * len(REFUSED)
    assert [(reason, where) for _, reason, where in refused] == [(reason, where) for _, reason, where in REFUSED]


def test_headers_name_the_schema_and_the_message() -> None:
    writers = KnownWriters({1: WriterSchema(PROTO), 2: WriterSchema("message {")})
    schema = RowSchema(fields=(FieldSpec(name="id", type="int64"), FieldSpec(name="why", type="string")))
    order = b"\x08\x07"
    values = [
        b"\0\0\0\0\x01\0" + order,
        b"\0\0\0\0\x01\x02\0" + order,
        b"\0\0\0\0\x01\x02\x02" + order + b"\x12\x01x",
        b"\0\0\0\0\x01\x02\x08" + order,
        b"\0\0\0\0\x01\x04\0\0\x0a\x01x",
        b"\0\0\0\0\x02\0" + order,
        b"\0\0\0\0\x03\0" + order,
        b"\0\0\0\0\x01",
        b"{}",
        b"\0\0\0\0\x01\x80\0" + order,
    ]
    rows, refused = judged(schema, list(values), writers=writers, framing="confluent")
    assert [(row["id"], row["why"]) for row in rows] == [(7, None), (7, None), (7, "x"), (None, None), (7, None)]
    reasons = ["other_schema", "other_schema", "unknown_schema", "no_header", "no_header"]
    assert [(place, reason) for place, reason, _ in refused] == list(zip([3, 5, 6, 7, 8], reasons, strict=True))
    named = [
        b"\0" + (1).to_bytes(8, "big") + bytes([len(name) + 2, 0x0A, len(name)]) + name + order
        for name in (b"Order", b"shop.Return", b"x")
    ]
    rows, refused = judged(schema, list(named), writers=writers, framing="apicurio")
    assert ([row["id"] for row in rows], [reason for _, reason, _ in refused]) == ([7, 7], ["other_schema"])


def test_older_writers_have_what_the_columns_say() -> None:
    """What a writer does not have is zero, or null with presence, as for any reader of protobuf."""
    older = 'syntax = "proto3"; message Order { int64 id = 1; }'
    writers = KnownWriters({1: WriterSchema(older)})
    assert judged(ORDER, [b"\0\0\0\0\x01\0\x08\x07"], writers=writers, framing="confluent") == ([EMPTY | {"id": 7}], [])
    assert misfit(ORDER, older) is None
    other = 'syntax = "proto3"; package shop; message Order { string id = 1; }'
    assert "id: the writer's message has string, which cannot become int64" in str(misfit(ORDER, other))


def test_what_is_cut_off_in_a_list_of_a_closed_enum_is_an_item() -> None:
    schema = RowSchema(source=ProtobufSource("message M { repeated E a = 1; enum E { A = 1; B = 2; } }"))
    _, refused = judged(schema, [b"\x0a\x02\x01\x80", b"\x0a\x03\x01\x05\x02"])
    assert refused == [(0, "not_protobuf", "a[]")]


def test_maps_have_no_groups() -> None:
    """The official library wrote the value: what is DELIMITED around a map does not count in it."""
    edition = """
    edition = "2023";
    option features.message_encoding = DELIMITED;
    message M { map<string, N> a = 1; N b = 2; }
    message N { int64 x = 1; }
    """
    value = b"\x0a\x07\x0a\x01k\x12\x02\x08\x05\x13\x08\x07\x14"
    assert judged(RowSchema(source=ProtobufSource(edition)), [value]) == ([{"a": [("k", {"x": 5})], "b": {"x": 7}}], [])


def test_small_values_do_not_become_large_rows() -> None:
    wide = (
        "message W { repeated I items = 1; message I {"
        + "".join(f"optional int64 a{n} = {n + 1};" for n in range(200))
        + "} }"
    )
    schema = RowSchema(source=ProtobufSource(wide))
    values: list[bytes | None] = [b"\x0a\x00" * 2, b"\x0a\x00" * 10_000, b"\x0a\x00"]
    _, refused = judged(schema, values)
    assert refused == [(1, "overflow", "items[]")]
