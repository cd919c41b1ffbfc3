"""Protobuf schemas that import others become one text that says the same."""

import pytest

from logpersister.registry.answers import Schema
from logpersister.registry.kinds import KINDS
from logpersister.schemas.errors import SchemaTextError
from logpersister.values.protobuf.columns import columns_of

TIMESTAMP = 'syntax = "proto3"; package google.protobuf; message Timestamp { int64 seconds = 1; int32 nanos = 2; }'
PLACE = 'syntax = "proto3"; package geo; message Place { string city = 1; %s }'
VISIT = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "geo/place.proto";
message Visit { google.protobuf.Timestamp at = 1; geo.Place where = 2; }
"""


def imported(text: str, name: str) -> Schema:
    return Schema(text, "PROTOBUF", name=name)


def test_a_file_counts_once_whoever_brings_it() -> None:
    """Some serializers register the files of google/protobuf, too; and two files may import versions of a third."""
    references = (
        imported(TIMESTAMP, "google/protobuf/timestamp.proto"),
        imported(PLACE % "", "geo/place.proto"),
        imported(PLACE % "string zip = 2;", "geo/place.proto"),
    )
    found = columns_of(KINDS["protobuf"].self_contained(Schema(VISIT, "PROTOBUF", references)), None)
    assert [(one.name, str(one.type)) for one in found] == [("at", "timestamp[us]"), ("where", "struct<city: string>")]


def test_what_is_no_protobuf_is_refused() -> None:
    with pytest.raises(SchemaTextError, match="it is registered as AVRO, not as protobuf"):
        KINDS["protobuf"].self_contained(Schema('"string"', "AVRO"))
