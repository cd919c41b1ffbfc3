"""What the manifest accepts and refuses of headers, schemas beside them, registries and keys; see `test_rules`."""

import json
from typing import Any

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
    (values("csv", "confluent") | _TOPIC, '"confluent" is no framing of values of this parser, which have no header'),
    (values("protobuf", "singleObject", **registered()), '"singleObject" is a framing of Avro values; write confluent'),
    (values("avro", "plain"), "spec.schema.avro: is missing, and values without a header do not say by which schema"),
    (values("avro", "plain", fields=FIELDS), "spec.schema.avro: is missing, and values without a header do not say"),
    (values("avro", "singleObject", fields=FIELDS), "spec.schema.avro: is missing, and so are writers and registry"),
    (
        values("avro", "plain", fields=FIELDS, writers=[AVRO, OTHER]),
        "spec.schema.writers: has several schemas, and values without a header do not say by which of them",
    ),
    (values("avro", "plain", writers=[AVRO]), "spec.schema.fields: is missing, and so are avro, protobuf, thrift"),
    (
        values("avro", "plain", fields=FIELDS, writers=['{"type": "record"}']),
        "spec.schema.writers[0]: cannot be the columns: it is no Avro schema; correct the schema",
    ),
    (
        values("avro", "plain", fields=FIELDS, avro='{"type": "enum"}'),
        "spec.schema.avro: cannot be the columns: its values are no records",
    ),
    (
        values("avro", fields=FIELDS, **registered(GLUE)),
        f'spec.schema.registry.url: "{GLUE}" is not a registry whose ids stand in values with this spec.parser.framing',
    ),
    (values("avro", "glue", fields=FIELDS, **registered()), "write framing glue and glue://REGION/REGISTRY together"),
    (
        values("json", "glue", **registered()),
        "is not a registry whose ids stand in values with this spec.parser.framing",
    ),
    (values("avro", "glue"), "spec.schema.registry: is missing, and parser avro has to learn by which schemas values"),
    (
        values("avro", "glue", **registered("glue://eu-central-1/or ders")),
        "is not an http or https URL of a schema registry, and no glue://REGION/REGISTRY of AWS Glue",
    ),
    (values("avro", "glue", **registered("glue://orders")), "and no glue://REGION/REGISTRY of AWS Glue"),
    (
        values("json", "confluent"),
        "spec.schema: is missing, and values would be stored with their header; name the fields",
    ),
    (values("json", fields=FIELDS, jsonSchema=JSON_SCHEMA), "declares columns, and so does fields; remove one of them"),
    (
        values("avro", "plain", avro=AVRO, jsonSchema=JSON_SCHEMA),
        "spec.schema.jsonSchema: is for parser json; name the columns in spec.schema.fields, or set spec",
    ),
    (values("json", jsonSchema='"text"'), "is not a JSON Schema of objects; write the schema as producers have it"),
    (
        values("json", jsonSchema="{"),
        "it is no JSON: expecting property name enclosed in double quotes at line 1, column 2; correct the",
    ),
    (values("json", jsonSchema="{}"), "cannot be the columns: it names no properties; correct it, or name the columns"),
    (values("json", jsonSchema='{"type": "array"}'), "cannot be the columns: its values are no objects"),
    (values("json", jsonSchema='{"properties": {"a": {"$ref": "b"}}}'), "it refers to 'b', which is not in it"),
    (values("json", jsonSchema='{"properties": {"a b": true}}'), "its field 'a b': a column cannot have this name"),
    (keys("text", "confluent"), 'spec.schema.key.framing: "confluent" is no framing of keys of this parser'),
    (
        keys("protobuf", "singleObject", URL, **STRUCT),
        'spec.schema.key.framing: "singleObject" is a framing of Avro keys',
    ),
    (
        keys("avro", "confluent", URL, avro=AVRO),
        "spec.schema.key.avro: is for parser avro and framing plain or singleObject; remove it; a regist",
    ),
    (
        keys("json", avro=AVRO, **STRUCT),
        "spec.schema.key.avro: is for parser avro and framing plain or singleObject; remove it; a regist",
    ),
    (
        keys("protobuf", "confluent", URL, message="K", **STRUCT),
        "spec.schema.key.message: is for parser protobuf and framing plain; remove it; a registry knows ",
    ),
    (
        keys("json", protobuf=PROTO, **STRUCT),
        "spec.schema.key.protobuf: is for parser protobuf and framing plain; remove it; a registry knows",
    ),
    (
        keys("thrift", **STRUCT),
        "spec.schema.key.thrift: is missing, and keys of Thrift do not say by which schema they were wri",
    ),
    (
        keys("json", thrift=IDL, **STRUCT),
        "spec.schema.key.thrift: is for parser thrift; remove it; a registry knows the schemas of keys t",
    ),
    (keys("avro", "plain", **STRUCT), "spec.schema.key.avro: is missing, and keys without a header do not say"),
    (keys("protobuf", "plain", **STRUCT), "spec.schema.key.protobuf: is missing, and keys without a header do not"),
    (keys("protobuf", **STRUCT), "spec.schema.registry: is missing, and keys name schemas that it knows; set"),
    (keys("avro", "singleObject", **STRUCT), "spec.schema.registry: is missing, and keys name schemas that it knows"),
    (
        keys("avro", registry=GLUE, **STRUCT),
        "is not a registry whose ids stand in keys with this spec.schema.key.framing",
    ),
    (keys("protobuf", "glue", URL, **STRUCT), "is not a registry whose ids stand in keys with this"),
    (keys("avro", "plain", avro="{}"), "spec.schema.key.avro: cannot be the columns: its values are no records"),
    (
        keys("protobuf", "plain", protobuf=PROTO, message="M"),
        'spec.schema.key.message: "M" cannot be the columns: the schema has no such message; write one of: K',
    ),
    (
        keys("thrift", thrift=IDL, type="struct<nr: int64>"),
        'spec.schema.key.type: "struct<nr: int64>" cannot be the columns: nr: the struct K has no such field; remove',
    ),
    (keys("messagepack"), 'key.type: "string" cannot be what keys become by parser messagepack: it is no struct'),
    (
        keys("messagepack", type="struct<a: json>"),
        "cannot be what keys become by parser messagepack: such keys have no",
    ),
]
