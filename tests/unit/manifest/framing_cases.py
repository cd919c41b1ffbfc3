"""What the manifest accepts and refuses of headers, schemas beside them, registries and keys; see `test_rules`."""

import json
from typing import Any

from tests.unit.manifest.documents import at

URL, GLUE = "http://registry:8081", "glue://eu-central-1/orders"
AVRO = json.dumps({"type": "record", "name": "Click", "fields": [{"name": "id", "type": "long"}]})
OTHER = AVRO.replace('"id"', '"nr"')
PROTO = 'syntax = "proto3"; message K { int64 id = 1; }'
IDL = {"idl": "struct K { 1: i64 id }"}
FIELDS = [{"name": "id", "type": "int8"}]
JSON_SCHEMA = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})


def values(kind: str, framing: str | None = None, **schema: Any) -> dict[str, Any]:
    """Return a change to values of a parser, behind a header."""
    parser = {"type": kind} | ({} if framing is None else {"framing": framing})
    return {"spec.parser": parser, "spec.schema": schema} if schema else {"spec.parser": parser}


def keys(kind: str, framing: str | None = None, registry: str | None = None, **key: Any) -> dict[str, Any]:
    """Return a change to keys of a parser, behind a header, of values that are JSON."""
    named = {"parser": kind} | ({} if framing is None else {"framing": framing}) | key
    schema: dict[str, Any] = {"fields": FIELDS, "key": named}
    if registry is not None:
        schema["registry"] = {"url": registry}
    return {"spec.parser": {"type": "json", "quarantine": {"format": "parquet"}}, "spec.schema": schema}


def registered(url: str = URL, **registry: Any) -> dict[str, Any]:
    return {"registry": {"url": url, **registry}}


BEHIND_GLUE = {"type": "json", "framing": "glue", "quarantine": {"format": "parquet"}}
STRUCT = {"type": "struct<id: int64>"}

ITEMS = {"type": "array", "items": {"type": "record", "name": "I", "fields": [{"name": "id", "type": "int"}]}}
NESTED = json.dumps({"type": "record", "name": "Click", "fields": [{"name": "of", "type": ITEMS}]})

ACCEPTED: list[dict[str, Any]] = [
    values("avro", "plain", avro=AVRO),
    values("avro", "plain", avro=AVRO, fields=FIELDS),
    values("avro", "plain", avro=AVRO, writers=[OTHER]),
    values("avro", "plain", fields=FIELDS, writers=[AVRO]),
    values("avro", "singleObject", avro=AVRO, writers=[OTHER, AVRO]),
    values("avro", "singleObject", fields=FIELDS, avro=AVRO.replace('"id"', '"a b"'), writers=[AVRO]),
    values("avro", "singleObject", fields=FIELDS, avro=OTHER, **registered()),
    values(
        "avro", "plain", fields=[{"name": "id", "type": "int8"}], writers=[AVRO], rename=[{"field": "id", "to": "nr"}]
    ),
    values("avro", "plain", fields=[{"name": "of", "type": "list<struct<id: int64>>"}], avro=NESTED),
    values("protobuf", **registered(), fields=[{"name": "other", "type": "int8"}]),
    values("avro", "singleObject", **registered()),
    values("avro", "singleObject", fields=FIELDS, **registered(subject="all")),
    values("avro", "singleObject", fields=FIELDS, **registered(GLUE)),
    values("avro", "glue", **registered(GLUE, secretName="glue", version=3)),
    values("avro", "glue", fields=FIELDS, **registered("glue://us-gov-west-1")),
    values("protobuf", "glue", **registered(GLUE, subject="{topic}.proto")),
    values("json", "plain"),
    values("json", "glue", fields=FIELDS),
    values("json", "confluent", fields=FIELDS),
    values("json", "apicurio", jsonSchema=JSON_SCHEMA),
    values("json", "glue", **registered(GLUE)),
    values("json", "confluent", **registered(f"{URL},https://other.example.com/api", version="latest", subject="a")),
    values("json", jsonSchema=JSON_SCHEMA),
    values("json", **registered(GLUE)),
    values("json", jsonSchema=JSON_SCHEMA, **registered(version=3)),
    values("bytes", "plain"),
    keys("json", "confluent", **STRUCT),
    keys("protobuf", registry=URL, **STRUCT),
    keys("protobuf", "glue", GLUE, **STRUCT),
    keys("protobuf", "plain", protobuf=PROTO),
    keys("protobuf", "plain", protobuf=PROTO, message="K", type="struct<id: int32>", column="of"),
    keys("avro", "plain", avro=AVRO),
    keys("avro", "plain", avro=AVRO, **STRUCT),
    keys("avro", "singleObject", avro=AVRO),
    keys("avro", "singleObject", URL, subject="{topic}-ids", **STRUCT),
    keys("thrift", thrift=IDL),
    keys("thrift", thrift=IDL | {"struct": "K", "protocol": "compact"}, **STRUCT),
    keys("messagepack", **STRUCT),
    keys("avro", "confluent", URL, **STRUCT) | {"spec.parser": BEHIND_GLUE},
]

_TOPIC = {"spec.schema": {"fields": FIELDS}}

UNUSED: list[tuple[dict[str, Any], str]] = [
    (values("avro", "plain", avro=AVRO, **registered()), "spec.schema.registry"),
    (values("avro", fields=FIELDS, writers=[AVRO], **registered()), "spec.schema.writers"),
    (values("avro", fields=FIELDS, **registered(subject="a")), "spec.schema.registry.subject"),
    (values("json", jsonSchema=JSON_SCHEMA, **registered(version="latest")), "spec.schema.registry"),
    (values("json", jsonSchema=JSON_SCHEMA, **registered()), "spec.schema.registry"),
    (values("messagepack", fields=FIELDS, **registered()), "spec.schema.registry"),
    (keys("avro", registry=URL, subject="a", **STRUCT), "spec.schema.key.subject"),
]
"""Fields without effect beside the others, which `check` names."""

REFUSED: list[tuple[dict[str, Any], str]] = [
    *at("spec.parser.framing", values("csv", "confluent") | _TOPIC, values("protobuf", "singleObject", **registered())),
    *at("spec.schema.avro", values("avro", "plain"), values("avro", "plain", fields=FIELDS)),
    (values("avro", "singleObject", fields=FIELDS), "spec.schema.avro"),
    (values("avro", "plain", fields=FIELDS, avro='{"type": "enum"}'), "spec.schema.avro"),
    (values("avro", "plain", fields=FIELDS, writers=[AVRO, OTHER]), "spec.schema.writers"),
    (values("avro", "plain", writers=[AVRO]), "spec.schema.fields"),
    (values("avro", "plain", fields=FIELDS, writers=['{"type": "record"}']), "spec.schema.writers[0]"),
    (values("avro", fields=FIELDS, **registered(GLUE)), "spec.schema.registry.url"),
    (values("avro", "glue", fields=FIELDS, **registered()), "spec.schema.registry.url"),
    (values("json", "glue", **registered()), "spec.schema.registry.url"),
    (values("avro", "glue", **registered("glue://eu-central-1/or ders")), "spec.schema.registry.url"),
    (values("avro", "glue", **registered("glue://orders")), "spec.schema.registry.url"),
    *at("spec.schema.registry.url", keys("avro", registry=GLUE, **STRUCT), keys("protobuf", "glue", URL, **STRUCT)),
    *at("spec.schema.registry", values("avro", "glue"), keys("protobuf", **STRUCT)),
    (keys("avro", "singleObject", **STRUCT), "spec.schema.registry"),
    (values("json", "confluent"), "spec.schema"),
    (values("json", fields=FIELDS, jsonSchema=JSON_SCHEMA), "spec.schema.jsonSchema"),
    (values("avro", "plain", avro=AVRO, jsonSchema=JSON_SCHEMA), "spec.schema.jsonSchema"),
    *at("spec.schema.jsonSchema", values("json", jsonSchema='"text"'), values("json", jsonSchema="{")),
    *at("spec.schema.jsonSchema", values("json", jsonSchema="{}"), values("json", jsonSchema='{"type": "array"}')),
    (values("json", jsonSchema='{"properties": {"a": {"$ref": "b"}}}'), "spec.schema.jsonSchema"),
    (values("json", jsonSchema='{"properties": {"a b": true}}'), "spec.schema.jsonSchema"),
    *at("spec.schema.key.framing", keys("text", "confluent"), keys("protobuf", "singleObject", URL, **STRUCT)),
    *at("spec.schema.key.avro", keys("avro", "confluent", URL, avro=AVRO), keys("json", avro=AVRO, **STRUCT)),
    *at("spec.schema.key.avro", keys("avro", "plain", **STRUCT), keys("avro", "plain", avro="{}")),
    (keys("protobuf", "confluent", URL, message="K", **STRUCT), "spec.schema.key.message"),
    (keys("protobuf", "plain", protobuf=PROTO, message="M"), "spec.schema.key.message"),
    *at("spec.schema.key.protobuf", keys("json", protobuf=PROTO, **STRUCT), keys("protobuf", "plain", **STRUCT)),
    *at("spec.schema.key.thrift", keys("thrift", **STRUCT), keys("json", thrift=IDL, **STRUCT)),
    *at("spec.schema.key.type", keys("thrift", thrift=IDL, type="struct<nr: int64>"), keys("messagepack")),
    (keys("messagepack", type="struct<a: json>"), "spec.schema.key.type"),
]
