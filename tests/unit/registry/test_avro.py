"""Schemas that refer to others become one text that says the same."""

import json

import pytest

from logpersister.registry.answers import Schema
from logpersister.registry.kinds import KINDS
from logpersister.schemas.errors import SchemaTextError


def schema(document: object, *references: object) -> Schema:
    return Schema(json.dumps(document), "AVRO", tuple(Schema(json.dumps(each), "AVRO") for each in references))


GEO = {"type": "record", "name": "Geo", "namespace": "com.acme", "fields": [{"name": "lat", "type": "double"}]}


def test_a_type_is_written_where_it_is_first_named() -> None:
    order = {
        "type": "record",
        "name": "com.acme.Order",
        "fields": [
            {"name": "from", "type": "Geo"},
            {"name": "to", "type": ["null", "com.acme.Geo"], "default": None},
            {"name": "via", "type": {"type": "array", "items": "Geo"}},
        ],
    }
    written = json.loads(KINDS["avro"].self_contained(schema(order, GEO)))
    first, second, third = (field["type"] for field in written["fields"])
    assert first == GEO
    assert second == ["null", "com.acme.Geo"]
    assert third == {"type": "array", "items": "Geo"}


def test_a_name_of_no_namespace_is_not_taken_for_one_of_the_namespace_around_it() -> None:
    bare = {"type": "enum", "name": "Kind", "symbols": ["A"]}
    event = {"type": "record", "name": "Event", "namespace": "com.acme", "fields": [{"name": "kind", "type": "Kind"}]}
    written = json.loads(KINDS["avro"].self_contained(schema(event, bare)))
    assert written["fields"][0]["type"] == {**bare, "namespace": ""}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Schema("{}", "PROTOBUF"), "PROTOBUF"),
        (Schema("{", "AVRO"), "no JSON"),
        (schema({"type": {"type": "string"}}, GEO), "no schema of Avro"),
        (schema({"type": "record", "name": "R", "fields": [1]}, GEO), "no schema of Avro"),
        (Schema("[" * 900 + "]" * 900, "AVRO", (Schema('"int"', "AVRO"),)), "no schema of Avro"),
    ],
    ids=["protobuf", "no JSON", "type", "fields", "deep"],
)
def test_what_is_no_avro_is_refused(given: Schema, told: str) -> None:
    with pytest.raises(SchemaTextError, match=told):
        KINDS["avro"].self_contained(given)
