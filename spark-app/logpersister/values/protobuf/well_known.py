"""Files that a registry or a text need not have: those of protobuf itself, and those that Confluent's registry adds.

The second group is what ``ProtobufSchema`` of Confluent's serializers has built in: ``google/type`` and
``confluent/type``. Fields are those of googleapis-common-protos, with which a test compares them.
"""

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
_DAYS: Final = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_MONTHS: Final = (
    *("JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE"),
    *("JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER"),
)
_PERIODS: Final = ("DAY", "WEEK", "FORTNIGHT", "MONTH", "QUARTER", "HALF", "YEAR")


def _enum(name: str, unspecified: str, *values: str) -> str:
    counted = " ".join(f"{value} = {number};" for number, value in enumerate((unspecified, *values)))
    return f"enum {name} {{ {counted} }}"


_GOOGLE_TYPES: Final[Mapping[str, str]] = {
    "calendar_period": _enum("CalendarPeriod", "CALENDAR_PERIOD_UNSPECIFIED", *_PERIODS),
    "color": """import "google/protobuf/wrappers.proto";
        message Color { float red = 1; float green = 2; float blue = 3; google.protobuf.FloatValue alpha = 4; }""",
    "date": "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "datetime": """import "google/protobuf/duration.proto";
        message DateTime {
          int32 year = 1; int32 month = 2; int32 day = 3; int32 hours = 4; int32 minutes = 5; int32 seconds = 6;
          int32 nanos = 7; oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; }
        }
        message TimeZone { string id = 1; string version = 2; }""",
    "dayofweek": _enum("DayOfWeek", "DAY_OF_WEEK_UNSPECIFIED", *_DAYS),
    "decimal": "message Decimal { string value = 1; }",
    "expr": "message Expr { string expression = 1; string title = 2; string description = 3; string location = 4; }",
    "fraction": "message Fraction { int64 numerator = 1; int64 denominator = 2; }",
    "interval": """import "google/protobuf/timestamp.proto";
        message Interval { google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }""",
    "latlng": "message LatLng { double latitude = 1; double longitude = 2; }",
    "localized_text": "message LocalizedText { string text = 1; string language_code = 2; }",
    "money": "message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }",
    "month": _enum("Month", "MONTH_UNSPECIFIED", *_MONTHS),
    "phone_number": """message PhoneNumber {
          message ShortCode { string region_code = 1; string number = 2; }
          oneof kind { string e164_number = 1; ShortCode short_code = 2; }
          string extension = 3;
        }""",
    "postal_address": """message PostalAddress {
          int32 revision = 1; string region_code = 2; string language_code = 3; string postal_code = 4;
          string sorting_code = 5; string administrative_area = 6; string locality = 7; string sublocality = 8;
          repeated string address_lines = 9; repeated string recipients = 10; string organization = 11;
        }""",
    "quaternion": "message Quaternion { double x = 1; double y = 2; double z = 3; double w = 4; }",
    "timeofday": "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }",
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
    "confluent/meta.proto": 'syntax = "proto3"; package confluent;',  # options of fields, which say nothing of bytes
    "confluent/type/decimal.proto": """syntax = "proto3"; package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }""",
    **{
        f"google/type/{name}.proto": f'syntax = "proto3"; package google.type; {text}'
        for name, text in _GOOGLE_TYPES.items()
    },
}

WRAPPED: Final[Mapping[str, str]] = {f"google.protobuf.{name}": kind for name, kind in _WRAPPERS.items()}
"""Wrapper messages, with the kind of the scalar in their field 1."""
TIMESTAMP: Final = "google.protobuf.Timestamp"
JSON: Final[Mapping[str, str]] = {
    "google.protobuf.Struct": "object",
    "google.protobuf.Value": "value",
    "google.protobuf.ListValue": "array",
}
"""Messages that are JSON, and as which form."""
