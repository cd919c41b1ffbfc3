"""What the manifest accepts and refuses of headers, schemas beside them, registries and keys; see `test_rules`."""

import json
from typing import Any

from tests.unit.manifest.documents import at

URL, GLUE = "http://registry:8081", "glue://eu-central-1/orders"
AVRO = json.dumps({"type": "record", "name": "Click", "fields": [{"name": "id", "type": "long"}]})
OTHER = AVRO.replace('"id"', '"nr"')
PROTO = 'syntax = "proto3"; message K { int64 id = 1; }'
IDL = "struct K { 1: i64 id }"
FIELDS = [{"name": "id", "type": "int8"}]
JSON_SCHEMA = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})


def values(kind: str, **block: Any) -> dict[str, Any]:
    """Return a change to values of a kind."""
    return {"spec.value": {kind: block}}


def keys(kind: str, column: str = "key", **block: Any) -> dict[str, Any]:
    """Return a change to keys of a kind, of values that are JSON."""
    return {**values("json", fields=FIELDS), "spec.key": {kind: block, "column": column}}


def registered(url: str = URL, **registry: Any) -> dict[str, Any]:
    return {"registry": {"url": url, **registry}}


def single(*schemas: str) -> dict[str, Any]:
    return {"singleObject": {"schemas": list(schemas)}}


OF_KEY = [{"name": "id", "type": "int64"}]
ITEMS = {"type": "array", "items": {"type": "record", "name": "I", "fields": [{"name": "id", "type": "int"}]}}
NESTED = json.dumps({"type": "record", "name": "Click", "fields": [{"name": "of", "type": ITEMS}]})

ACCEPTED: list[dict[str, Any]] = [
    values("avro", writer=AVRO),
    values("avro", writer=OTHER, schema=AVRO),
    values("avro", **single(OTHER, AVRO), schema=AVRO),
    values("avro", **single(AVRO), fields=FIELDS),
    {"spec.value": {"avro": {"writer": AVRO, "fields": FIELDS}, "rename": [{"field": "id", "to": "nr"}]}},
    values("avro", writer=NESTED, fields=[{"name": "of", "type": "list<struct<id: int64>>"}]),
    values("protobuf", **registered(), fields=[{"name": "other", "type": "int8"}]),
    values("avro", **single(), **registered()),
    values("avro", **single(), fields=FIELDS, **registered(subject="all")),
    values("avro", **registered(GLUE, secretName="glue", version=3)),
    values("protobuf", **registered(GLUE, subject="{topic}.proto")),
    values("json"),
    values("json", framing="glue", fields=FIELDS),
    values("json", framing="apicurio", jsonSchema=JSON_SCHEMA),
    values("json", framing="glue", **registered(GLUE)),
    values(
        "json", framing="confluent", **registered(f"{URL},https://other.example.com/api", version="latest", subject="a")
    ),
    values("json", jsonSchema=JSON_SCHEMA, **registered(version=3)),
    keys("json", framing="confluent", fields=OF_KEY),
    keys("protobuf", **registered(), fields=OF_KEY),
    keys("protobuf", "of", schema=PROTO, message="K", fields=OF_KEY),
    keys("avro", writer=AVRO, fields=OF_KEY),
    keys("avro", **single(AVRO), schema=AVRO),
    keys("avro", **single(), **registered(subject="{topic}-ids"), fields=OF_KEY),
    keys("thrift", idl=IDL, struct="K", protocol="compact", fields=OF_KEY),
    keys("messagepack", fields=OF_KEY),
    keys("avro", **registered(), fields=OF_KEY) | values("json", framing="glue", fields=FIELDS),
    keys("avro", writer=AVRO) | values("avro", **registered()),
    keys("protobuf", writer=PROTO) | values("protobuf", **registered()),
]

UNUSED: list[tuple[dict[str, Any], str]] = [
    (values("avro", fields=FIELDS, **registered(subject="a")), "spec.value.avro.registry.subject"),
    (values("json", jsonSchema=JSON_SCHEMA, **registered(version="latest")), "spec.value.json.registry"),
]
"""Fields without effect beside the others, which `check` names."""

REFUSED: list[tuple[dict[str, Any], str]] = [
    (values("csv", framing="confluent", fields=FIELDS), "spec.value.csv.framing"),
    (values("protobuf", **single(AVRO), **registered()), "spec.value.protobuf.singleObject"),
    *at("spec.value.avro.schema", values("avro"), values("avro", fields=FIELDS)),
    (values("avro", **single(), fields=FIELDS), "spec.value.avro.singleObject.schemas"),
    (values("avro", writer='{"type": "enum"}', fields=FIELDS), "spec.value.avro.writer"),
    *at("spec.value.avro.writer", values("avro", writer=AVRO, **registered()), values("avro", writer=AVRO, **single())),
    (values("avro", **single('{"type": "record"}'), fields=FIELDS), "spec.value.avro.singleObject.schemas[0]"),
    (values("avro", schema=AVRO, fields=FIELDS), "spec.value.avro.schema"),
    (values("protobuf", schema=PROTO, writer=PROTO), "spec.value.protobuf.writer"),
    (values("avro", **registered(framing="glue")), "spec.value.avro.registry.framing"),
    *at("spec.value.json.registry", values("json", framing="glue", **registered())),
    *at("spec.value.json.registry", values("json", framing="apicurio", **registered(GLUE))),
    (values("avro", **registered("glue://eu-central-1/or ders")), "spec.value.avro.registry.url"),
    (keys("avro", **registered(), fields=OF_KEY) | values("avro", **registered(GLUE)), "spec.key.avro.registry"),
    (keys("protobuf", fields=OF_KEY), "spec.key.protobuf.schema"),
    (keys("avro", **single(), fields=OF_KEY), "spec.key.avro.singleObject.schemas"),
    (values("json", framing="confluent"), "spec.value.json.fields"),
    (values("json", fields=FIELDS, jsonSchema=JSON_SCHEMA), "spec.value.json.jsonSchema"),
    (values("avro", schema=AVRO, jsonSchema=JSON_SCHEMA), "spec.value.avro.jsonSchema"),
    *(
        (values("json", jsonSchema=text), "spec.value.json.jsonSchema")
        for text in (
            *('"text"', "{", "{}", '{"type": "array"}', '{"properties": {"a": {"$ref": "b"}}}'),
            '{"properties": {"a b": true}}',
        )
    ),
    (keys("text", framing="confluent"), "spec.key.text.framing"),
    (keys("json", framing="glue"), "spec.key.json.fields"),
    (keys("protobuf", schema=PROTO, message="M"), "spec.key.protobuf.message"),
    (keys("thrift", fields=OF_KEY), "spec.key.thrift.idl"),
    (keys("thrift", idl=IDL, fields=[{"name": "nr", "type": "int64"}]), "spec.key.thrift.fields[0].name"),
    (keys("messagepack"), "spec.key.messagepack.fields"),
]
