"""The files that come with protobuf and that a registry or a text therefore need not have (protobuf.dev)."""

from collections.abc import Mapping
from typing import Final

_HEAD: Final = 'syntax = "proto3"; package google.protobuf; '
_WRAPPERS: Final[Mapping[str, str]] = {
    "DoubleValue": "double",
    "FloatValue": "float",
    "Int64Value": "int64",
    "UInt64Value": "uint64",
    "Int32Value": "int32",
    "UInt32Value": "uint32",
    "BoolValue": "bool",
    "StringValue": "string",
    "BytesValue": "bytes",
}

WELL_KNOWN: Final[Mapping[str, str]] = {
    "google/protobuf/any.proto": f"{_HEAD}message Any {{ string type_url = 1; bytes value = 2; }}",
    "google/protobuf/duration.proto": f"{_HEAD}message Duration {{ int64 seconds = 1; int32 nanos = 2; }}",
    "google/protobuf/empty.proto": f"{_HEAD}message Empty {{}}",
    "google/protobuf/field_mask.proto": f"{_HEAD}message FieldMask {{ repeated string paths = 1; }}",
    "google/protobuf/struct.proto": f"""{_HEAD}
        message Struct {{ map<string, Value> fields = 1; }}
        message Value {{
          oneof kind {{
            NullValue null_value = 1; double number_value = 2; string string_value = 3; bool bool_value = 4;
            Struct struct_value = 5; ListValue list_value = 6;
          }}
        }}
        enum NullValue {{ NULL_VALUE = 0; }}
        message ListValue {{ repeated Value values = 1; }}""",
    "google/protobuf/timestamp.proto": f"{_HEAD}message Timestamp {{ int64 seconds = 1; int32 nanos = 2; }}",
    "google/protobuf/wrappers.proto": _HEAD
    + " ".join(f"message {name} {{ {kind} value = 1; }}" for name, kind in _WRAPPERS.items()),
}

WRAPPED: Final[Mapping[str, str]] = {f"google.protobuf.{name}": kind for name, kind in _WRAPPERS.items()}
"""By message: the kind of the scalar in its field 1."""
TIMESTAMP: Final = "google.protobuf.Timestamp"
JSON: Final[Mapping[str, str]] = {
    "google.protobuf.Struct": "object",
    "google.protobuf.Value": "value",
    "google.protobuf.ListValue": "array",
}
"""By message: what it is as JSON."""
