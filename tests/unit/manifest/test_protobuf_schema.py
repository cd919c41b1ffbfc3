"""`.proto` texts are read as protoc reads them."""

import base64
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MessageOptions,
)
from google.type import money_pb2
from grpc_tools import protoc

from logpersister.schemas.errors import SchemaTextError
from logpersister.values.protobuf.columns import columns_of
from logpersister.values.protobuf.schema import Schema, read_schema, resolve
from logpersister.values.protobuf.text import read_text
from logpersister.values.protobuf.well_known import WELL_KNOWN

PROTO2 = """
/* A comment // with another beginning. */
syntax = 'proto2';
package acme . shop;
import public "google/protobuf/timestamp.proto";
option java_package = "com.acme" /* of two */ ".shop";
option (custom).of = { a: 1 b { c: "}" } };
message Order {
  option deprecated = false;
  extensions 100 to 199, 500 to max;
  reserved 2, 15, 9 to 11; reserved "foo", "bar";
  required int64 id = 1;
  optional Kind kind = 3 [default = SHOP, deprecated = true];
  repeated group Item = 0x4 { required string sku = 1; optional float price = 2 [default = -inf]; }
  map < string , .acme.shop.Order.Kind > by_kind = 05;
  oneof how { string card = 6; option (x) = true; group Cash = 7 { optional bool all = 1; } }
  repeated sint32 small = 8 [packed = true, (my.opt) = "a;b", (o) = {list: [1, 2] nested <x: 1>}];
  optional Outer.Inner inner = 12;
  optional google.protobuf.Timestamp at = 13;
  enum Kind { option allow_alias = true; NONE = 0; WEB = 1 [(x) = 'y']; SHOP = 1; LOW = -0x2; reserved 5; }
  extend Order { optional int32 more = 100; repeated group Much = 103 { optional Kind kind = 1; } }
}
message Outer { message Inner { optional Outer up = 1; optional Inner in = 2; optional bytes data = 3; } ; }
extend Order { optional string other = 101; optional group Extra = 102 { } }
message Last { }
service S { rpc Get (Order) returns (stream Order) { option (x) = "y"; } }
"""
PROTO3 = """
syntax = "proto3";
message optional_words {
  optional string message = 1; string enum = 2; repeated package package = 3; reserved.x y = 4;
  oneof oneof { int32 map = 5; } optional fixed32 z = 6; bool option_ = 7;
}
message package { optional sfixed64 syntax = 536870911; map<bool, bytes> of_bytes_2x = 1; }
message reserved { message x { } }
"""
EDITION = """
edition = "2023";
package e;
option features.field_presence = IMPLICIT;
option features.(pb.cpp).string_type = VIEW;
option features.message_encoding = DELIMITED;
message M {
  int32 a = 1; int32 b = 2 [features.field_presence = EXPLICIT];
  int32 c = 3 [features = {field_presence: LEGACY_REQUIRED}];
  M inside = 4; M sized = 5 [features.message_encoding = LENGTH_PREFIXED]; map<int32, M> m = 6;
  Closed d = 7 [features.field_presence = EXPLICIT]; Open o = 8;
  oneof x { string s = 9; }
}
enum Closed { option features.enum_type = CLOSED; C0 = 0; }
enum Open { O0 = 0; }
"""
EDITION_2024 = """
edition = "2024";
package e;
export message Outer {
  local message Inner { int32 x = 1; }
  local enum Kind { KIND_UNSPECIFIED = 0; }
  Inner inner = 1; Kind kind = 2; int32 local = 3;
}
local enum Kind { KIND_UNSPECIFIED = 0; }
"""


def by_protoc(tmp_path: Path, text: str) -> Schema:
    """Return the schema as protoc has it."""
    (tmp_path / "t.proto").write_text(text)
    out = tmp_path / "set"
    ours, types = Path(protoc.__file__).parent / "_proto", Path(money_pb2.__file__).parents[2]
    options = [f"-I{tmp_path}", f"-I{ours}", f"-I{types}", "--include_imports", f"--descriptor_set_out={out}"]
    assert protoc.main(["protoc", *options, str(tmp_path / "t.proto")]) == 0
    return resolve(FileDescriptorSet.FromString(out.read_bytes()).file)


UNKNOWN_TO_PROTOC = (
    'option (custom).of = { a: 1 b { c: "}" } };',
    "option (x) = true;",
    " [(x) = 'y']",
    ', (my.opt) = "a;b", (o) = {list: [1, 2] nested <x: 1>}',
    'option (x) = "y";',
    "reserved.x y = 4;",
    "option features.(pb.cpp).string_type = VIEW;",
)
"""Options of files that are not there, and a name that only a word of the language could be."""


@pytest.mark.parametrize("text", [PROTO2, PROTO3, EDITION, EDITION_2024], ids=["proto2", "proto3", "edition", "2024"])
def test_texts_are_read_as_by_protoc(tmp_path: Path, text: str) -> None:
    for unknown in UNKNOWN_TO_PROTOC:
        text = text.replace(unknown, "")
    theirs, ours = by_protoc(tmp_path, text), read_schema(text)
    assert ours == theirs
    packed = FileDescriptorSet(file=[read_text(text)]).SerializeToString()
    assert read_schema(base64.b64encode(packed).decode()) == ours


@pytest.mark.parametrize("name", [name for name in WELL_KNOWN if name.startswith("google/")])
def test_well_known_files_are_those_of_google(tmp_path: Path, name: str) -> None:
    theirs = by_protoc(tmp_path, f'syntax = "proto3"; import "{name}"; message M {{}}')
    ours = resolve([read_text(WELL_KNOWN[name], name)])
    assert {name: one for name, one in theirs.messages.items() if name != "M"} == ours.messages
    assert theirs.enums == ours.enums


def test_files_that_registries_have_built_in_need_not_be_registered() -> None:
    imports = 'import "google/type/color.proto"; import "confluent/type/decimal.proto"; import "confluent/meta.proto";'
    fields = "google.type.Color c = 1; confluent.type.Decimal d = 2;"
    columns = columns_of(f'syntax = "proto3"; {imports} message M {{ {fields} }}', "M")
    assert [str(one.type) for one in columns] == [
        "struct<red: float32, green: float32, blue: float32, alpha: float32>",
        "struct<value: binary[base64], precision: int64, scale: int32>",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it has no message"),
        ("message M {", "it ends too early"),
        ("\nmessage M { Other a = 1; }", "its field M.a has the type Other, which is not there"),
        ("message M { int32 a = 1; int32 b = 1; }", "its message M has a field twice"),
        ("message M { int32 a = 0; }", "its field M.a has the number 0"),
        pytest.param(f"message M {{ int32 a = 0x{'f' * 6000}; }}", "where a whole number is expected", id="number"),
        ("message M { map<float, string> a = 1; }", "its message M.AEntry is no entry of a map whose keys are numbers"),
        ('syntax = "proto4";', "its syntax 'proto4' is neither proto2 nor proto3"),
        pytest.param("\n/*" * 50_000, "its line 2 has a comment without an end", id="comment"),
        pytest.param(f"message{' ' * 200_000}!", "where a name is expected", id="space"),
        ("message A { " * 40, "it has more than 32 messages in each other"),
        ("AAAA", "it is no descriptor set"),
    ],
)
def test_what_is_no_schema_is_told(text: str, told: str) -> None:
    with pytest.raises(SchemaTextError) as error:
        read_schema(text).message(None)
    assert told in str(error.value)


def nested(depth: int) -> DescriptorProto:
    return DescriptorProto(name="M", nested_type=[nested(depth - 1)] if depth > 1 else [])


def entry(*fields: FieldDescriptorProto) -> DescriptorProto:
    return DescriptorProto(name="M", field=fields, options=MessageOptions(map_entry=True))


KEY = FieldDescriptorProto(name="key", number=1, type=FieldDescriptorProto.TYPE_STRING)
VALUE = FieldDescriptorProto(name="value", number=2, type_name="M")
NAMELESS = FieldDescriptorProto(name="a", number=1, type=FieldDescriptorProto.TYPE_MESSAGE)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (nested(40), "it has more than 32 messages in each other"),
        (entry(KEY), "its message M is no entry of a map"),
        (entry(VALUE, KEY), "its message M is no entry of a map"),
        (DescriptorProto(name="M", field=[NAMELESS]), "its field M.a has no type"),
    ],
    ids=["deep", "no value", "turned round", "no name"],
)
def test_descriptor_sets_that_protoc_never_writes_are_told(message: DescriptorProto, told: str) -> None:
    """A registry may have any bytes; the native parser counts on what was read."""
    files = FileDescriptorSet(file=[FileDescriptorProto(message_type=[message])])
    text = base64.b64encode(files.SerializeToString()).decode()
    with pytest.raises(SchemaTextError, match=told):
        read_schema(text)


def test_more_fields_than_columns_are_not_looked_at() -> None:
    fields = "".join(f"int32 a{number} = {number};" for number in range(1, 1002))
    with pytest.raises(SchemaTextError, match="it has more than 1000 columns"):
        columns_of(f"message M {{ {fields} }}", None, as_reader=True)


TYPES: dict[str, tuple[str, Any]] = {
    "bool a": ("bool", "false"), "sint32 a": ("int32", "0"), "uint32 a": ("int64", "0"), "sfixed64 a": ("int64", "0"),
    "fixed64 a": ("decimal(20,0)", "0"), "float a": ("float32", "0"), "double a": ("float64", "0"),
    "string a": ("string", '""'), "bytes a": ("binary[base64]", '""'), "E a": ("string", '"E0"'),
    "optional int32 a": ("int32", None), "repeated string a": ("list<string not null>", "[]"),
    "map<int64, I> a": ("map<string, struct<x: int32 not null> not null>", "{}"),
    "google.protobuf.Timestamp a": ("timestamp[us]", None), "google.protobuf.Value a": ("json", None),
    "google.protobuf.UInt64Value a": ("decimal(20,0)", None), "I a": ("struct<x: int32 not null>", None),
    "google.protobuf.Duration a": ("struct<seconds: int64 not null, nanos: int32 not null>", None),
    "M a": ("M has itself in it", None), "N a": ("it has no fields", None), "int32 kafka_a": ("int32", "0"),
}  # fmt: skip


@pytest.mark.parametrize("field", TYPES)
def test_columns_fit_all_that_a_message_can_hold(field: str) -> None:
    imports = "".join(f'import "{name}";' for name in WELL_KNOWN)
    others = "message I { int32 x = 1; } message N {} enum E { E0 = 0; }"
    text = f'syntax = "proto3"; {imports} message M {{ {field} = 1; }} {others}'
    [column] = columns_of(text, "M", as_reader=True)
    type_, default = TYPES[field]
    assert (str(column.type) if column.type is not None else column.remark).startswith(type_)
    assert column.default == default
    assert column.required == (default is not None)
    [loose] = columns_of(text, None)
    assert (loose.required, loose.default) == (False, None)
