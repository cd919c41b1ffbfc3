"""Every rule of the manifest: what it accepts, what it refuses, and in which words."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from logpersister.cli.check.spec import unused_findings
from logpersister.manifest import ManifestError, parse
from tests.outputs import output_in
from tests.unit.manifest import framing_cases
from tests.unit.manifest.conditions import ACCEPTED_CONDITIONS, REFUSED_CONDITIONS
from tests.unit.manifest.documents import REMOVE, accepted, changed, problems

K, S, F, U = "spec.kafka.", "spec.storage.", "spec.output.", "spec.upload."
OF = "spec.overrides"
R, A = "spec.rollout.", "spec.rollout.canary.analysis."
SHADOW = {"groupId": "clicks-shadow", "prefix": "shadow"}
BESIDE = {R + "shadow": SHADOW, S + "prefix": "raw"}
"""A shadow whose prefix lies beside that of the resource."""
SASL = {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "secretName": "clicks-kafka"}
PATTERN = {K + "topics": REMOVE, K + "topicPattern": "^web"}


def by_pattern(**fields: Any) -> dict[str, Any]:
    return PATTERN | {K + name: value for name, value in fields.items()}


MAIL = ({"name": "mail", "type": "string"}, {"name": "user", "type": "struct<phone: string, n: int8>"})
LISTS = (
    *({"name": "tags", "type": "list<string>"}, {"name": "items", "type": "list<struct<id: int64>>"}),
    *({"name": "at", "type": "timestamp[s]"}, {"name": "id", "type": "int8"}),
)
QUIET = {"format": "parquet", "keepValue": False}


def hiding(
    *, quarantine: dict[str, Any] | None = None, output: str = "parquet", of: Any = MAIL, **schema: Any
) -> dict[str, Any]:
    parser = {"type": "json", "quarantine": QUIET if quarantine is None else quarantine}
    return {"spec.parser": parser, F + "format": output, "spec.schema": {"fields": list(of), **schema}}


def keyed(
    *, keeps: bool = True, parser: str = "json", schema: dict[str, Any] | None = None, of: str = "text", **key: Any
) -> dict[str, Any]:
    quarantine = {"quarantine": {"format": "parquet"}} if keeps else {}
    fields = {"fields": list(MAIL[:1]), **(schema or {}), "key": {"parser": of, **key}}
    return {"spec.parser": {"type": parser, **quarantine}, "spec.schema": fields}


def hidden_keys(column: str, *, of: str = "text", type: str = "string", **hides: Any) -> dict[str, Any]:  # noqa: A002
    """Return a change to a topic whose keys are stored as they are, too, and fields are hidden."""
    key = {"parser": of, "column": column, "type": type}
    parser = {"type": "json", "quarantine": QUIET}
    schema = {"fields": list(MAIL[:1]), "key": key, **hides}
    return {"spec.parser": parser, "spec.schema": schema, **in_parquet(kafkaColumns=["key"])}


REGISTERED = {"registry": {"url": "http://registry:8081"}}
MESSAGE = {"fields": None, "protobuf": "message M { int64 id = 1; }"}


def hashing(*fields: str, **more: Any) -> dict[str, Any]:
    return hiding(hash={"fields": list(fields), "secretName": "people"}, **more)


def dropping(name: str, of: Sequence[Any] = ("string",), **schema: Any) -> dict[str, Any]:
    parser = {"type": "avro", "quarantine": QUIET}
    return by_avro(*of, drop=[name], **schema) | {F + "format": "parquet", "spec.parser": parser}


def in_parquet(**settings: Any) -> dict[str, Any]:
    return {F + name: value for name, value in output_in("parquet", settings).items()}


def numbered(*fields: str, first: int = 1) -> list[dict[str, Any]]:
    return [{"field": name, "id": number} for number, name in enumerate(fields, first)]


NO_LEVEL = "a mapping is not exactly one of date, offset, field, lower, truncate and bucket; write one entry"


NO_INSTANT = "is a pattern that tells no instant"


def dated(field: str, granularity: str = "day", **date: Any) -> dict[str, Any]:
    """Return folders by the time of a field."""
    return {F + "partitionBy": [{"date": {"granularity": granularity, "field": field, **date}}]}


def rows(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"spec.parser": {"type": "json"}, "spec.schema": {"fields": list(fields)}}


def adjusting(*fields: dict[str, Any], of: str = "json", schema: Any = None, **parser: Any) -> dict[str, Any]:
    """Return a change to a topic of rows in Parquet whose parser does more than refuse."""
    columns = list(fields) or [{"name": "id", "type": "int8"}, {"name": "user", "type": "struct<phone: string>"}]
    return {
        "spec.parser": {"type": of, **parser},
        "spec.schema": {"fields": columns, **(schema or {})},
        F + "format": "parquet",
    }


def renaming(*pairs: str, **schema: Any) -> dict[str, Any]:
    """Return a change to a topic in which fields have other names, written as ``id=number``."""
    entries = [dict(zip(("field", "to"), pair.split("="), strict=True)) for pair in pairs]
    return adjusting(schema={"rename": entries, **schema}, quarantine=QUIET)


def default(value: Any, type_: str = "int8", **more: Any) -> dict[str, Any]:
    return adjusting({"name": "id", "type": type_, "default": value, **more})


ONE = {"name": "id", "type": "int8"}
OF_OTHERS = (
    *(("int", "int32"), ("long", "int64"), ("bigint", "int64"), ("short", "int16"), ("boolean", "bool")),
    *(("double", "float64"), ("float", "float32"), ("varchar", "string"), ("text", "string"), ("str", "string")),
    *(("bytes", "binary[base64]"), ("datetime", "timestamp[ms]"), ("numeric", "decimal(20,0)"), ("Array", "list<...>")),
)
"""Types as other systems call them, and as they are called here."""


def avro(*fields: dict[str, Any], url: str = "http://registry:8081", **parser: str) -> dict[str, Any]:
    schema = {"fields": list(fields or [{"name": "id", "type": "int8"}]), "registry": {"url": url}}
    return {"spec.parser": {"type": "avro", **parser}, "spec.schema": schema}


def by_avro(*types: Any, **schema: Any) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": type_} for number, type_ in enumerate(types)]
    text = json.dumps({"type": "record", "name": "Click", "fields": fields})
    return avro() | {"spec.schema": {"registry": {"url": "http://registry:8081"}, "avro": text, **schema}}


def by_registry(**registry: Any) -> dict[str, Any]:
    return avro() | {"spec.schema": {"registry": {"url": "http://registry:8081", **registry}}}


def plain(text: str = 'syntax = "proto3"; message M { int64 id = 1; }', **schema: Any) -> dict[str, Any]:
    parser = {"type": "protobuf", "framing": "plain"}
    return {"spec.parser": parser, "spec.schema": {"protobuf": text, **schema}}


def protobuf(**schema: Any) -> dict[str, Any]:
    registry = {"url": "http://registry:8081"}
    return {"spec.parser": {"type": "protobuf"}, "spec.schema": {"registry": registry, **schema}}


def lines(parser: str, *fields: dict[str, Any], **settings: Any) -> dict[str, Any]:
    schema = {"fields": list(fields or [{"name": "id", "type": "int8"}])}
    return {"spec.parser": {"type": parser, parser: settings}, "spec.schema": schema}


def finishing(**fields: Any) -> dict[str, Any]:
    """Return changes with folders by day that are finished."""
    return {"spec.finish": fields, "spec.output.partitionBy": [{"date": {"granularity": "day"}}]}


T = "spec.table"
TY = "spec.types"
DAY = {"date": {"granularity": "day"}}


def in_table(*fields: dict[str, Any], catalog: dict[str, Any] | None = None, **table: Any) -> dict[str, Any]:
    known = {"type": "rest", "uri": "https://catalog.example.com"} | (catalog or {})
    columns = fields or ({"name": "id", "type": "int8"},)
    return rows(*columns) | {F + "format": "parquet", T: {"format": "iceberg", "catalog": known, "name": "a.b"} | table}


METASTORE = {"type": "hive", "uri": "thrift://metastore:9083"}
HIVE: dict[str, Any] = {"format": "hive", "catalog": METASTORE, "name": "a.b"}


def in_hive(*fields: dict[str, Any], catalog: dict[str, Any] | None = None, **table: Any) -> dict[str, Any]:
    return in_table(*fields, catalog=METASTORE | (catalog or {}), format="hive", **table)


def thrift(idl: str = "struct S { 1: i32 id }", /, struct: str | None = None, **schema: Any) -> dict[str, Any]:
    named = {} if struct is None else {"struct": struct}
    return {"spec.parser": {"type": "thrift"}, "spec.schema": {"thrift": {"idl": idl, **named}, **schema}}


def in_types(*entries: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Return a change to a topic whose types are in a header."""
    return {TY: {"header": "h", "entries": list(entries) or [{"names": ["a"]}], **others}}


def tables_of(*entries: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Return a change to a topic whose types are stored as Parquet, in tables."""
    return in_table(name="lake.{topic}_{type}") | in_types(*entries, **others)


def named_by_time(name: str, field: str | None = None) -> dict[str, Any]:
    """Return an entry with folders by day, perhaps of a field."""
    level = {"granularity": "day"} | ({} if field is None else {"field": field})
    rows = {"parser": {"type": "json"}, "schema": {"fields": [{"name": "at", "type": "timestamp[ms]"}]}}
    return {"names": [name], **rows, "output": {"format": "parquet", "partitionBy": [{"date": level}]}}


ACCEPTED: list[dict[str, Any]] = [
    *ACCEPTED_CONDITIONS,
    in_table(),
    in_table(
        name="lake.{topic}_{generation}",
        properties={"a": "b", "format-version": "2"},
        create=False,
        commitInterval="5s",
    ),
    in_table(name="a.{topic}") | PATTERN,
    tables_of(
        {"names": ["a", "b"]},
        {"pattern": "^c", "table": False},
        {"pattern": "^d", "folder": "d"},
        {"names": ["B"], "output": {"format": "avro"}},
    ),
    tables_of({"names": ["raw"], "parser": {"type": "bytes"}, "output": {"format": "parquet"}})
    | {F + "format": "text"},
    in_table(catalog={"type": "sql", "uri": "postgresql+psycopg2://db:5432/catalog", "warehouse": "s3://a/b"}),
    in_table({"name": "at", "type": "timestamp[us]"}, {"name": "of", "type": "list<time[us]>"}),
    in_table(catalog=METASTORE),
    in_table(
        catalog={"type": "glue", "uri": None, "region": "eu-west-1", "secretName": "glue", "warehouse": "s3://a/b"}
    ),
    in_hive(),
    in_hive({"name": "at", "type": "timestamp[us]"}, catalog={"type": "glue", "uri": "https://vpce.example.com"}),
    in_hive(partitions="onFinish") | finishing(),
    in_hive(catalog={"uri": "thrift://a:9083,thrift://b:9083"}) | {S + "caSecretName": "ca"},
    in_hive({"name": "at", "type": "time[ms]"}, {"name": "to", "type": "timestamp[ns]"}) | {F + "format": "jsonl"},
    in_hive({"name": "at", "type": "timestamp[ms]"}) | {F + "format": "avro"},
    in_hive({"name": "at", "type": "timestamp[us]"}) | {F + "format": "orc", F + "kafkaColumns": ["offset"]},
    {F + "format": "text", F + "text": {"delimiter": "\n"}, T: HIVE},
    {F + "format": "sequencefile", T: HIVE},
    {OF: [{"topics": ["clicks"], "parser": {"type": "json"}, "output": {"format": "jsonl"}}]},
    {OF: [{"topicPattern": "^c", "upload": {"maxAge": "1m"}}, {"topicPattern": "s$", "output": {"format": "jsonl"}}]},
    plain(),
    plain("CiIKB3QucHJvdG8iDwoBTRIKCgJpZBgBIAEoA2IGcHJvdG8z\n", message="M"),
    plain(fields=[{"name": "id", "type": "int8"}], message="M"),
    thrift(),
    thrift("struct S { 1: i32 id } struct T { 1: S s }", struct="T"),
    thrift(fields=[{"name": "id", "type": "decimal(9,2)"}]),
    thrift() | {"spec.parser": {"type": "thrift", "thrift": {"protocol": "compact"}}},
    protobuf(fields=[{"name": "id", "type": "int8"}]),
    protobuf(message="shop.Order"),
    protobuf(protobuf="message M { required int64 id = 1; }"),
    protobuf() | {"spec.parser": {"type": "protobuf", "framing": "apicurio"}},
    lines("csv", delimiter="\u0001", quote="", escape="\\", nullText="\\N", columns=["a", "id"]),
    lines("csv", {"name": "id", "type": "json"}, {"name": "b", "type": "binary[base64]"}),
    lines("regex", pattern="(?P<id>\\d+)|-", nullText=""),
    rows({"name": "id", "type": "int8"}) | {"spec.parser": {"type": "messagepack", "unknownFields": "refuse"}},
    by_avro("long", ["null", "string"], {"type": "map", "values": "int"}),
    by_avro("long", registry={"url": "http://registry:8081", "version": 3, "subject": "clicks"}),
    by_registry(),
    by_registry(version="latest", subject="a.{topic}_{topic}") | {F + "partitionBy": [{"field": "unknown.yet"}]},
    by_registry(version=2**31 - 1, secretName="registry"),
    by_avro(avro=' \n{"type": "record", "name": "a.B", "fields": [{"name": "a", "type": "int", "default": 1}]}\n'),
    avro(framing="apicurio"),
    {"spec.parser": {"type": "json", "quarantine": {}}},
    {"spec.parser": {"type": "json", "quarantine": {"format": "parquet", "holdAbove": "0%"}}},
    avro({"name": "id", "type": "list<timestamp[ms]>", "format": "epoch[ms]"}, url="https://r.example.com/apis/v7/"),
    {"status": {"anything": [1, None]}},
    {"metadata": {"name": "a", "uid": "5", "managedFields": [{}], "labels": {"a": "b"}, "namespace": "data"}},
    {"metadata.name": "a" * 39},
    rows({"name": "a", "type": "struct<id: int8>"}, {"name": "at", "type": "timestamp[s]"})
    | {
        F + "partitionBy": [
            {"field": "a.id", "prefix": "i="},
            {"truncate": {"field": "a.id", "width": 5}},
            {"bucket": {"field": "a.id", "count": 5}},
            {"date": {"field": "at", "granularity": "day"}},
        ]
    },
    {"spec.generation": 1},
    {"spec.generation": 2**31 - 1},
    {"spec.members": 1000},
    {"spec.shutdownGrace": "0s"},
    {"spec.shutdownGrace": "1h"},
    {"spec.cycleInterval": "100ms"},
    {"spec.cycleInterval": "5m"},
    {K + "bootstrapServers": "broker-1:9092, broker-2.example.org:1,[::1]:65535,10.0.0.1:9092,under_score:9092"},
    {K + "bootstrapServers": "a:1,b:2,a:1"},
    {K + "groupId": "other_Group.1"},
    {K + "topics": ["a", "B.c_d-e", "x" * 249, "__mine"]},
    by_pattern(),
    by_pattern(topicPattern="^web\\.(a|b)$", excludeTopicPattern="test$"),
    by_pattern(topicPattern="(?i:web)"),
    {K + "startFrom": "latest"},
    {K + "startFrom": "2026-11-21T00:00:00Z"},
    {K + "startFrom": "2026-11-21t01:00:00.123456+01:00"},
    {K + "isolationLevel": "read_uncommitted"},
    {K + "onDataLoss": "skip"},
    {K + "clientRack": "eu-west-1a"},
    {K + "sessionTimeout": "6s"},
    {K + "sessionTimeout": "30m"},
    {K + "security": {}},
    {K + "security": {"protocol": "SSL"}},
    {K + "security": {"protocol": "SSL", "secretName": "tls", "verifyHostname": False}},
    {K + "security": SASL},
    {K + "security": SASL | {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN"}},
    {K + "security": SASL | {"mechanism": "OAUTHBEARER"}},
    {K + "security": SASL | {"mechanism": "SCRAM-SHA-256"}},
    {S + "bucket": "my.bucket-1"},
    {S + "bucket": "abc"},
    {S + "bucket": "b" * 63},
    {S + "prefix": ""},
    {S + "prefix": "raw/My_events/(a)'!*=1.2"},
    {S + "endpoint": "http://127.0.0.1:9000"},
    {S + "endpoint": "https://s3.example.org/"},
    {S + "endpoint": "http://[::1]:9000"},
    {S + "region": "eu-central-1"},
    {S + "secretName": "s3.credentials-1"},
    {S + "pathStyle": True},
    {S + "storageClass": "STANDARD_IA"},
    {S + "storageClass": "COLD-tier", S + "endpoint": "http://ceph:80"},
    {S + "encryption": {"type": "S3"}},
    {S + "encryption": {"type": "KMS"}},
    {S + "encryption": {"type": "KMS", "keyId": "arn:aws:kms:eu-central-1:1:key/a-b"}},
    {S + "partSize": "5Mi"},
    {S + "partSize": "5Gi"},
    {S + "partSize": 6_000_000},
    {S + "verifyTls": False},
    {S + "endpoint": "https://s3", S + "caSecretName": "ca"},
    {S + "checksums": "when_required"},
    {F + "format": "text", F + "compression": "none"},
    {F + "format": "text", F + "compression": "zstd"},
    {F + "format": "sequencefile", F + "compression": "deflate"},
    {F + "format": "sequencefile", F + "compression": "none", F + "sequencefile": {"compressionType": "block"}},
    {F + "format": "sequencefile", F + "sequencefile": {"compressionType": "record", "key": "messagepack"}},
    {F + "format": "sequencefile", F + "tombstones": "skip"},
    {F + "tombstones": "empty", F + "text": {"delimiter": "\u001e", "delimiterInValue": "escape"}},
    {F + "text": {"delimiter": "--END--", "delimiterInValue": "keep"}},
    {F + "format": "jsonl", F + "compression": "zstd"},
    {F + "format": "jsonl", F + "kafkaColumns": [], F + "tombstones": "null"},
    rows({"name": "a", "type": "date"}) | {F + "format": "jsonl", F + "kafkaColumns": ["headers"]},
    {F + "format": "avro", F + "compression": "snappy", F + "kafkaColumns": ["key"], F + "tombstones": "null"},
    rows({"name": "_a1", "type": "struct<B_: map<string, list<struct<c: timestamp[s]>>>>"}) | {F + "format": "avro"},
    {F + "format": "orc", F + "compression": "zlib", F + "kafkaColumns": ["key"], F + "tombstones": "null"},
    {F + "format": "orc", F + "compression": "none", F + "orc": {"stripeBytes": "64Ki"}},
    rows({"name": "@a-1", "type": "map<string, list<timestamp[ns]>>"}) | {F + "format": "orc"},
    {F + "format": "parquet", F + "compression": "snappy"},
    {F + "format": "parquet", F + "kafkaColumns": ["headers", "topic"], F + "parquet": {"rowGroupBytes": "1Gi"}},
    {F + "format": "parquet", F + "tombstones": "null", F + "parquet": {"rowGroupBytes": "64Ki"}},
    {F + "format": "parquet", F + "parquet": {"pageBytes": "16Ki", "pageIndex": True, "withoutDictionary": ["value"]}},
    in_parquet(sortBy=[{"field": "value"}]),
    in_parquet(sortBy=[{"field": "kafka_timestamp", "order": "descending"}], kafkaColumns=["timestamp"]),
    in_parquet(sortBy=[{"field": "value", "nulls": "first"}], rowGroupBytes="256Mi"),
    in_parquet(rowGroupBytes="257Mi", sortBy=[]),
    rows({"name": "a", "type": "struct<b: decimal(5,2)>"}, {"name": "c", "type": "bool"})
    | in_parquet(sortBy=[{"field": "a.b"}, {"field": "c"}]),
    in_parquet(fieldIds=numbered("value", first=2_147_483_446)),
    in_parquet(
        kafkaColumns=["headers"],
        fieldIds=numbered(
            "value", *(f"kafka_headers{one}" for one in ("", ".element", ".element.key", ".element.value"))
        ),
    ),
    rows({"name": "m", "type": "map<string, list<int8>>"})
    | in_parquet(fieldIds=numbered("m", "m.key", "m.value", "m.value.element")),
    # The registry knows the columns: some may have no id yet, and ids of columns that are no more stay taken.
    by_registry() | in_parquet(fieldIds=numbered("gone"), sortBy=[{"field": "later"}]),
    in_hive({"name": "id", "type": "int64"}) | in_parquet(fieldIds=numbered("id")),
    rows({"name": "a", "type": "struct<b: list<int8>, c: date>"})
    | {F + "format": "parquet", F + "parquet": {"withoutDictionary": ["a.b"], "bloomFilters": [{"field": "a.c"}]}},
    {
        F + "format": "parquet",
        F + "kafkaColumns": ["key"],
        F + "parquet": {"bloomFilters": [{"field": "kafka_key", "distinct": 1}]},
    },
    rows({"name": "id", "type": "int64", "required": True}, {"name": "@timestamp", "type": "timestamp[ns]"}),
    rows({"name": "at", "type": " list < map<string,timestamp[ms] not null>> ", "format": "epoch[ns]"}),
    rows({"name": "at", "type": "timestamp[ms]", "format": "iso8601"}),
    rows({"name": "at", "type": "timestamp[ms]", "format": "pattern['['dd/MMM/yyyy:HH:mm:ss.SSSSSSSSS Z']']"}),
    rows({"name": "at", "type": "timestamp[ms]", "format": "pattern[yyyy''MM''ddHHXXX]", "default": "2026'11'2105Z"}),
    rows({"name": "id", "type": "int32"}) | dated("id", "minute", format="epoch[s]"),
    rows({"name": "a", "type": "struct<b: string>"}) | dated("a.b", "hour", format="rfc3339", timezone="Asia/Tokyo"),
    rows({"name": "at", "type": "string"}) | dated("at", "hour", format="pattern[yyyyMMddHH]") | {"spec.finish": {}},
    rows({"name": "on", "type": "date"}) | dated("on"),
    rows({"name": "a", "type": "struct<a: struct<a: decimal(38,38), $b-c: json not null>, list: time[us]>"}),
    rows({"name": "a", "type": "list<" * 15 + "binary[base64]" + ">" * 15}) | {F + "format": "parquet"},
    rows({"name": "dt", "type": "date"}) | {F + "partitionBy": [{"date": {"granularity": "day"}}]},
    rows({"name": "a", "type": "int8"}) | {"spec.parser": {"type": "json", "unknownFields": "refuse"}},
    {F + "partitionBy": []},
    {F + "partitionBy": [{"date": {"granularity": "minute", "timezone": "America/Argentina/Ushuaia", "prefix": ""}}]},
    {
        F + "partitionBy": [
            {"date": {"granularity": "day"}},
            {"date": {"granularity": "hour"}},
            {"offset": {"every": 1}},
        ]
    },
    {F + "partitionBy": [{"date": {"granularity": "day", "timezone": "Etc/GMT+5", "prefix": "local-day="}}]},
    {U + "maxBytes": "64Ki"},
    {U + "maxBytes": "160000Mi"},
    {U + "maxBytes": "5Ti", S + "partSize": "550Mi"},
    {U + "maxAge": "1s"},
    {U + "maxAge": "30d"},
    {OF: [{"topicPattern": "^a", "upload": {"maxAge": "1m"}}, {"topicPattern": ".", "upload": {"maxBytes": "1Mi"}}]},
    {"spec.spark": {"executors": 1000, "conf": {"spark.executor.memory": "2g"}}},
    {"spec.spark": {"conf": {"spark.kubernetes.executor.secrets.my-ca": "/etc/ca"}}},
    {"spec.spark": {"conf": {"spark.kubernetes.executor.label.team": "web", "spark.authenticates": "1"}}},
    {"spec.spark": {"maxExecutors": 5}},
    {"spec.spark": {"minExecutors": 5, "maxExecutors": 5, "executors": 0}},
    {"spec.spark": {"minExecutors": 0, "maxExecutors": 1000}},
    {"spec.spark": {"executorPodTemplate": {"spec": {"tolerations": [{"operator": "Exists"}]}}}},
    {"spec.targetLag": "365d", "spec.networkPolicy": "Restricted"},
    {"spec.autoscale": {"maxMembers": 1}, "spec.members": 5},
    {"spec.autoscale": {"minMembers": 1000, "maxMembers": 1000, "targetLag": "15m1s"}, "spec.targetLag": "1s"},
    {"spec.autoscale": {"maxMembers": 2}, "spec.targetLag": "15m1s"},
    {
        OF: [{"topicPattern": "a", "upload": {"maxAge": "1d"}}],
        "spec.autoscale": {"maxMembers": 2, "targetLag": "1d1s"},
    },
    {"spec.autoRepair": {"restartAfter": "1d", "maxRestartsPerHour": 0}},
    {"spec.autoRepair": {"nodeLostAfter": "1m"}},
    finishing(),
    finishing(
        policy=["done", "manifest"], manifestName=".objects", allowedLateness="0s", idleAfter="30d", storeAtEnd=True
    ),
    finishing(policy=["webhook"], webhook={"url": "https://[::1]:8443/a~b/?x=%20,y"}, trigger="process-time"),
    finishing(policy=["kafka", "webhook"], webhook={"url": "http://h", "timeout": "1m"}, kafka={"topic": "told"}),
    in_types(named_by_time("a"), named_by_time("b", "at"), {"names": ["c"]})
    | {"spec.finish": {"trigger": "record-time"}},
    in_types(named_by_time("a", "at"), named_by_time("b", "at")) | {"spec.finish": {}},
    finishing(outerLevels=True),
    finishing(late="folder"),
    finishing(late="quarantine"),
    finishing(late="folder") | hashing("mail"),
    finishing(late="quarantine") | keyed(),
    finishing(late="quarantine") | hashing("mail", quarantine={"keepValue": True}),
    {"spec.rollout": {}},
    {"spec.rollout": {"strategy": "Recreate", "onFailure": "Pause", "attempt": 2**31 - 1, "steps": []}},
    {"spec.rollout": {"canary": {"members": 1000, "analysis": {"duration": "599.999s"}}}},
    {"spec.rollout": {"canary": {"analysis": {"duration": "0s", "minRanges": 0, "maxLagGrowth": "0%"}}}},
    {"spec.rollout": {"canary": {"analysis": {"maxQuarantineRatio": "0%"}}}},
    {"spec.rollout": {"canary": {"analysis": {"maxQuarantineRatio": "100%"}}}},
    {"spec.rollout": {"canary": {"analysis": {"duration": "1d"}}, "progressDeadline": "1d1s"}},
    {"spec.rollout": {"steps": [{"members": "1%"}, {"members": "50%", "pause": {}}, {"members": "100%"}]}},
    {"spec.rollout": {"steps": [{"members": 9, "pause": {"duration": "1s"}}, {"members": 10}]}},
    BESIDE,
    BESIDE | {R + "shadow": SHADOW | {"members": 1000, "duration": "1d", "minRanges": 0}},
    BESIDE | {R + "shadow": {"groupId": "g" * 176, "prefix": "p" * 376}},
    BESIDE | {R + "shadow": SHADOW | {"prefix": "raw2"}, R + "strategy": "Canary"},
    BESIDE | {R + "shadow": SHADOW | {"prefix": "a/raw"}, S + "prefix": "a/raws"},
    BESIDE | {R + "shadow": SHADOW | {"groupId": "clicks"}},
    {R + "shadow": SHADOW | {"prefix": "kind=shadow/1"}},
    {"spec.podTemplate": {}},
    {"spec.serviceAccount": {}},
    {"spec.serviceAccount": {"name": "logs.writer-1", "annotations": {}}},
    {"spec.serviceAccount": {"annotations": {"example.org/role": ""}}},
    {"spec.podTemplate": {"spec": {"containers": [{"name": "sidecar", "image": "x"}, {"name": "member"}]}}},
    {"spec.image": "localhost:5000/data/logpersister:1@sha256:" + "0a" * 32},
    {"spec.podTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"anything": [{"goes": 1.5}, None]}}},
    # null is the same as not set
    {"metadata": {"name": "a", "creationTimestamp": None}, "spec.podTemplate": {"spec": None, "metadata": None}},
    {K + "groupId": None, "spec.output": None, S + "pathStyle": None, "spec.spark": {"conf": {"spark.a": None}}},
    hashing("mail", "user.phone"),
    hashing("mail", output="jsonl", quarantine={"holdAbove": "0%"}),
    hashing("mail", output="avro", quarantine={"keepValue": True}),
    hashing("mail", output="orc", quarantine={"keepValue": True}),
    dropping("f1", ["string", ["null", "string", "long"]]),
    dropping("b", ["string", ["null", "string", "long"]], rename=[{"field": "f1", "to": "b"}]),
    hashing("user.n", "mail") | {F + "partitionBy": [{"lower": "user.n"}]},
    hiding(mask=[{"fields": ["user.phone"], "keepLast": 4}, {"fields": ["mail"]}]),
    dropping("f1", ["string"] * 2),
    adjusting(unknownFields="keep"),
    adjusting(ONE, of="messagepack", unknownFields="keep", restColumn="others"),
    adjusting(
        ONE, of="csv", unknownFields="keep", csv={"columns": ["id", "note", "2nd"]}, faults={"overflow": "setNull"}
    ),
    adjusting(
        ONE, of="regex", regex={"pattern": "(?P<id>.*)"}, faults={"badText": "setNull", "invalidUtf8": "replace"}
    ),
    adjusting(faults={"wrongType": "convert", "duplicates": "last"}),
    adjusting(faults={}),
    adjusting(faults={"wrongType": "setNull"}) | {F + "format": "text"},
    renaming("user.phone=phone_number", "user=person", "id=user", mask=[{"fields": ["person.phone_number"]}]),
    renaming("id=number") | {F + "partitionBy": [{"field": "number", "prefix": "n="}]},
    renaming("id=ID"),
    by_avro("long", "string", rename=[{"field": "f0", "to": "f1"}, {"field": "f1", "to": "f0"}], drop=["f1"])
    | {F + "format": "parquet", "spec.parser": {"type": "avro", "quarantine": QUIET}},
    by_registry() | {"spec.schema": REGISTERED | {"rename": [{"field": "not.yet.known", "to": "known"}]}},
    default(0),
    default(-128),
    default(False, "bool"),
    default(0.5, "float32"),
    default(1, "float64"),
    default("", "string", required=True),
    default("2026-02-28", "date"),
    default("23:59:59.5", "time[us]"),
    default("2026-11-26T05:00:00+01:00", "timestamp[ns]"),
    default(0, "timestamp[s]", format="epoch[ms]"),
    default("-1.50", "decimal(3,2)"),
    default(7, "decimal(1,0)"),
    default("/w==", "binary[base64]"),
    keyed(),
    keyed(type="timestamp[ms]", format="epoch[s]", column="at"),
    keyed(parser="csv", type="json") | {F + "format": "text"},
    hidden_keys("id", hash={"fields": ["mail"], "secretName": "people"}),
    keyed(of="json", type="struct<mail: string, a: json>", schema={"mask": [{"fields": ["key.mail"]}]})
    | {"spec.parser": {"type": "json", "quarantine": QUIET}, F + "format": "avro"},
    keyed(of="avro", type="struct<a: int8>", framing="apicurio", schema=REGISTERED),
    keyed(of="avro", type="struct<a: int8>", schema=REGISTERED | {"fields": None}),
    keyed(of="avro", type="struct<a: int8>", schema=REGISTERED | MESSAGE, parser="protobuf"),
    plain('syntax = "proto3"; message M { int64 id = 1; } // done.'),
    *framing_cases.ACCEPTED,
]


@pytest.mark.parametrize("changes", ACCEPTED, ids=str)
def test_accepted(changes: dict[str, Any]) -> None:
    assert accepted(changes).kind == "LogPersister"


def found_by(**way: Any) -> dict[str, Any]:
    """Return a change to a topic whose types are found in another way."""
    return {TY: {**way, "entries": [{"names": ["1"], "parser": {"type": "bytes"}}]}}


FRAME = {"type": {"at": 0}, "body": {"lengthAt": 8}}
FRAME_HEADER = {"lengthAt": 4, "schema": {"protobuf": "message H { optional int32 a = 1; }"}}


UNUSED: list[tuple[dict[str, Any], str]] = [
    (rows(ONE) | {"spec.parser": {"type": "json", "thrift": {}}}, "spec.parser.thrift"),
    (
        adjusting(ONE, of="regex", regex={"pattern": "(?P<id>.*)"}, unknownFields="keep"),
        "spec.parser.unknownFields",
    ),
    ({F + "kafkaColumns": ["key"]}, "spec.output.kafkaColumns"),
    (avro() | {"spec.schema.registry": {"url": "http://registry:8081", "version": 3}}, "spec.schema.registry.version"),
    (
        avro() | {"spec.schema.registry": {"url": "http://registry:8081", "subject": "a"}},
        "spec.schema.registry.subject",
    ),
    (by_avro("int", registry={"url": "http://registry:8081", "version": "latest"}), "spec.schema.registry.version"),
    (avro() | {"spec.parser": {"type": "json"}}, "spec.schema.registry"),
    (plain(registry={"url": "http://registry:8081"}), "spec.schema.registry"),
    (
        protobuf(protobuf="message M { optional int32 a = 1; }", fields=[{"name": "a", "type": "int32"}]),
        "spec.schema.protobuf",
    ),
    (
        protobuf(
            protobuf="message M { optional int32 a = 1; }",
            registry={"url": "http://registry:8081", "version": "latest"},
        ),
        "spec.schema.registry.version",
    ),
    (adjusting(unknownFields="drop", restColumn="a"), "spec.parser.restColumn"),
    ({"spec.parser": {"type": "json", "unknownFields": "keep"}, F + "format": "parquet"}, "spec.parser.unknownFields"),
    ({"spec.parser": {"type": "json", "faults": {"overflow": "setNull"}}}, "spec.parser.faults"),
    ({"spec.parser": {"type": "bytes", "faults": {"overflow": "setNull"}}}, "spec.parser.faults"),
    (adjusting(ONE, of="csv", faults={"duplicates": "last"}), "spec.parser.faults.duplicates"),
    (protobuf(fields=[{"name": "id", "type": "int8"}], message="M"), "spec.schema.message"),
    ({"spec.parser": {"quarantine": {}}}, "spec.parser.quarantine"),
    (lines("csv") | {"spec.parser": {"type": "json", "csv": {}}}, "spec.parser.csv"),
    (lines("csv") | {"spec.parser": {"type": "csv", "unknownFields": "refuse"}}, "spec.parser.unknownFields"),
    (
        rows({"name": "id", "type": "int8"}) | {"spec.parser": {"type": "json", "regex": {"pattern": "a"}}},
        "spec.parser.regex",
    ),
    ({"spec.parser": {"type": "json", "unknownFields": "refuse"}}, "spec.parser.unknownFields"),
    (
        {
            F + "format": "sequencefile",
            F + "compression": "none",
            F + "sequencefile": {"compressionType": "record"},
        },
        "spec.output.sequencefile.compressionType",
    ),
    *framing_cases.UNUSED,
]
"""Fields without effect beside the others, which `check` names."""


@pytest.mark.parametrize(("changes", "unused"), UNUSED, ids=lambda value: str(value)[:80])
def test_what_is_merely_pointless_is_a_warning_of_check(changes: dict[str, Any], unused: str) -> None:
    (found,) = unused_findings(accepted(changes).spec)
    assert (found.verdict, found.message) == ("warning", f"without effect here: {unused}")


def test_check_finds_nothing_pointless_where_all_has_effect() -> None:
    assert not list(unused_findings(accepted(dropping("f0", ["string"] * 2)).spec))


REFUSED: list[tuple[dict[str, Any], str]] = [
    *REFUSED_CONDITIONS,
    (in_table() | in_types(), 'spec.table.name: "a.b" has the placeholder of types without spec.types, or spec.types'),
    (in_table(name="a.{type}"), "has the placeholder of types without spec.types, or spec.types without it"),
    (tables_of({"names": ["a"], "output": {"format": "jsonl"}}), "tables of its types: none is stored with format par"),
    (tables_of({"names": ["a"], "table": False}), "spec.types: cannot have tables of its types: none is stored"),
    (
        tables_of({"names": ["a"]}, {"pattern": "b"}),
        "spec.types.entries[1]: cannot have tables of its types: only records say what they are called; set folder, or",
    ),
    (
        tables_of({"names": ["a"]}, others={"action": "store"}),
        "spec.types.others: cannot have tables of its types: only records say what they are called",
    ),
    (
        tables_of({"names": ["a.b"]}, {"names": ["A-b"]}),
        "spec.types.entries[1]: cannot have tables of its types: those of a.b and A-b would be one, lake.{topic}_A_b",
    ),
    (
        tables_of(*({"names": [f"{of}-{one}" for one in range(100)]} for of in range(6))),
        "spec.types: cannot have tables of its types: they would be 600, and 500 is the most",
    ),
    (
        tables_of({"names": ["a"], "schema": {"fields": [{"name": "t", "type": "time[ms]"}]}}),
        "spec.types.entries[0].schema: cannot be a column of the table: field t is of type time[ms]",
    ),
    (
        tables_of({"names": ["a"], "output": {"format": "parquet", "partitionBy": [{"field": "id", "prefix": "id/"}]}}),
        "spec.types.entries[0].output.partitionBy[0]",
    ),
    (
        tables_of({"names": ["a"]}) | {"spec.overrides": [{"topics": ["clicks"], "parser": {"type": "bytes"}}]},
        "spec.overrides[0]: does not go together with spec.table.name, which then has the placeholder of types",
    ),
    (in_types() | {"spec.finish": {}}, "spec.finish: needs folders by time"),
    (
        in_types(named_by_time("a"), named_by_time("b", "at")) | {"spec.finish": {}},
        "follows the time of folders, but types have folders by different times: at, the record's timestamp",
    ),
    (in_types(key=True), "spec.types: a mapping is not exactly one of header, key, field, frame"),
    (
        {TY: {"schemaName": "record", "entries": [{"names": ["a"]}]}},
        'spec.types.schemaName: "record" needs values that name their schema',
    ),
    (in_types({"names": ["a"], "folder": "f", "action": "drop"}), 'spec.types.entries[0].action: "drop" has a parser'),
    (in_types(others={"folder": "f"}), 'spec.types.others.action: "quarantine" has a parser'),
    (in_types({"action": "drop"}), "spec.types.entries[0]: a mapping is not exactly one of names and pattern"),
    (in_types({"pattern": "(?i)a"}), "is not a pattern: it has a (? that begins neither"),
    (in_types({"pattern": "(a)\\1"}), r"is not a pattern: it has \1, which is not supported"),
    (
        in_types(*({"pattern": f"^{number}[^x]{{4000}}"} for number in range(3))),
        "spec.types.entries: has patterns of more than 10,000 characters and classes together",
    ),
    (in_types(holdAbove="101%"), "spec.types.holdAbove"),
    (found_by(any={}), "spec.types: finds types in messages of protobuf, but spec.parser reads no messages"),
    (
        protobuf() | found_by(any={"column": "whole"}),
        "spec.types: has a column of the whole message, but spec.schema declares no columns",
    ),
    (
        plain() | found_by(any={"field": "m", "column": "kafka_x"}),
        'spec.types.any.column: "kafka_x" begins with kafka_',
    ),
    (
        plain() | found_by(oneof={"name": "m", "parse": "field", "column": "KAFKA_x"}),
        'spec.types.oneof.column: "KAFKA_x" begins with kafka_',
    ),
    (
        found_by(frame={**FRAME, "header": {**FRAME_HEADER, "column": "kafka_h"}}),
        'spec.types.frame.header.column: "kafka_h" begins with kafka_',
    ),
    *(
        (
            found_by(frame={**FRAME, number: {"at": 0, "column": "Kafka_n"}}),
            f'spec.types.frame.{number}.column: "Kafka_n" begins with kafka_',
        )
        for number in ("type", "timestamp")
    ),
    (in_table() | {F + "format": "jsonl"}, "spec.table: needs Parquet files"),
    (in_table() | {F + "format": "orc"}, "spec.table: needs Parquet files; set spec.output.format to parquet, or"),
    (in_table() | PATTERN, 'spec.table.name: "a.b" names one table for several topics; put the placeholder'),
    (in_table() | {K + "topics": ["a", "b"]}, "names one table for several topics"),
    (
        in_table() | {"spec.overrides": [{"topicPattern": "^o", "table": {"name": "a.b"}}]},
        'spec.overrides[0].table.name: "a.b" names one table for several topics; put the placeholder',
    ),
    ({"spec.overrides": [{"topicPattern": "^o", "table": {"name": "a.{topic}"}}]}, "there is no spec.table"),
    (in_table(name="clicks"), 'spec.table.name: "clicks" is not the name of a table; write namespace and table'),
    (in_table(name="a.{name}"), "is not the name of a table"),
    (in_table(format="delta"), "spec.table.format"),
    (in_hive() | in_types(), 'spec.table.format: "hive" cannot be hive with spec.types'),
    (in_table(format="hive"), 'spec.table.catalog.type: "rest" has no Hive tables; set it to hive or glue'),
    (in_hive(name="a.b.c"), 'spec.table.name: "a.b.c" is not database and table, as metastores and Glue have them'),
    (in_table(partitions="onFinish") | finishing(), 'spec.table.partitions: "onFinish" is for format hive only'),
    (in_hive(partitions="onFinish"), "waits for finished folders, and spec.finish finishes none"),
    (in_table(catalog={"uri": None}), "spec.table.catalog.uri: is missing; write the address of the catalog"),
    (in_hive(catalog={"uri": None}), "spec.table.catalog.uri: is missing; write the address of the catalog"),
    (in_hive(catalog={"region": "eu-west-1"}), 'spec.table.catalog.region: "eu-west-1" is for type glue only'),
    (in_hive(catalog={"secretName": "a"}), "members log in to no metastore; remove it"),
    ({F + "format": "jsonl", T: HIVE}, "spec.table: needs columns, which JSON lines have by a schema only"),
    (
        {F + "format": "text", F + "text": {"delimiter": "\u001e"}, T: HIVE},
        "must be a line feed, which is what Hive tables of text are split at",
    ),
    (in_hive({"name": "a", "type": "time[ms]"}), "field a is of type time[ms], and Hive has no times of day"),
    (in_hive({"name": "a", "type": "list<timestamp[ns]>"}), "field a[] is of type timestamp[ns], which engines do not"),
    (
        in_hive({"name": "a", "type": "timestamp[us]"}) | {F + "format": "avro"},
        "engines do not read from avro files of a Hive table; write timestamp[ms]",
    ),
    (
        in_hive({"name": "a", "type": "timestamp[ns]"}) | {F + "format": "orc"},
        "engines do not read from orc files of a Hive table; write timestamp[us]",
    ),
    (in_hive({"name": "a", "type": "json"}) | {F + "format": "jsonl"}, "which is no text where lines are JSON"),
    (in_hive({"name": "@at", "type": "string"}), "has other characters than letters, digits and _ in its name"),
    (in_table(commitInterval="1s"), 'spec.table.commitInterval: "1s" is not within 5s to 1d'),
    (in_table(commitInterval="2d"), 'spec.table.commitInterval: "2d" is not within 5s to 1d'),
    (in_table(properties={"logpersister.last": "x"}), "spec.table.properties: sets properties whose names"),
    (in_table(properties={"format-version": "3"}), "spec.table.properties: sets another format-version than 2"),
    (in_table(catalog={"type": "nessie"}), "spec.table.catalog.type"),
    (in_table(catalog={"type": "sql"}), "does not go together with the type of the catalog; write an http or https"),
    (in_table(catalog={"uri": "sqlite:///a"}), "does not go together with the type of the catalog"),
    (in_table(catalog={"uri": "ftp://a"}), 'spec.table.catalog.uri: "ftp://a" is not the address of a catalog'),
    (in_table(catalog={"uri": "https://me:secret@a"}), "has a password in it; put it in the Secret that secretName"),
    (in_table(catalog={"warehouse": "a b"}), "is not the name of a warehouse"),
    (in_table() | {S + "caSecretName": "ca"}, "spec.storage.caSecretName: cannot be combined with an Iceberg table"),
    (
        in_table() | {F + "partitionBy": [{"date": {"granularity": "day", "prefix": ""}}]},
        'spec.output.partitionBy[0]: "" names no column of the table; set a prefix',
    ),
    (
        in_table()
        | {F + "partitionBy": [{"offset": {"every": 9}}, {"date": {"granularity": "day", "prefix": "Offset="}}]},
        'spec.output.partitionBy[1]: "Offset=" names a column that the table has already; set another prefix',
    ),
    (
        in_table()
        | {F + "kafkaColumns": ["topic"]}
        | {F + "partitionBy": [{"date": {"granularity": "day", "prefix": "kafka_topic="}}]},
        'spec.output.partitionBy[0]: "kafka_topic=" names a column that the table has already',
    ),
    (
        in_table({"name": "a", "type": "struct<b: list<timestamp[ns]>>"}),
        "cannot be a column of the table: field a.b[] is of type timestamp[ns], and Iceberg has microseconds",
    ),
    (in_table({"name": "a", "type": "map<string, time[ms]>"}), "field a{} is of type time[ms]"),
    ({"apiVersion": "v1"}, 'apiVersion: "v1" is not allowed here; write one of: logpersister.dev/v1alpha1'),
    ({"kind": "Deployment"}, 'kind: "Deployment" is not allowed here; write one of: LogPersister'),
    ({"kind": REMOVE}, "kind: is missing; it has no default, so set it"),
    ({"spec": REMOVE}, "spec: is missing; it has no default, so set it"),
    ({"spec": []}, "spec: a list is not a mapping; write its fields below it, as `name: value` lines"),
    ({"metadata.name": REMOVE}, "metadata.name: is missing"),
    ({"metadata.name": "Clicks"}, 'metadata.name: "Clicks" is not a name that Kubernetes allows'),
    ({"metadata.name": "-a"}, "is not a name that Kubernetes allows"),
    ({"metadata.name": "1clicks"}, "is not a name that Kubernetes allows"),
    ({"metadata.name": "a\n"}, "is not a name that Kubernetes allows"),
    ({"metadata.name": "a" * 40}, "is longer than 39 characters; shorten it"),
    ({"metadata.namespace": "a.b"}, "is not a namespace that Kubernetes allows"),
    ({"metadata.labels": {"a": 1}}, "metadata.labels.a: 1 is not text; put it in quotes"),
    ({"metadata.labels": {1: "a"}}, "metadata.labels: 1 is a name that is not text; put the name in quotes"),
    ({"metadata.annotations": ["a"]}, "metadata.annotations: a list is not a mapping"),
    ({"spec.generation": 0}, "spec.generation: 0 is not within 1 to 2147483647"),
    ({"spec.generation": 2**31}, "is not within 1 to 2147483647"),
    ({"spec.generation": "1"}, 'spec.generation: "1" is not a whole number; write it in digits, without quotes'),
    ({"spec.generation": 1.5}, "spec.generation: 1.5 is not a whole number"),
    ({"spec.generation": True}, "spec.generation: true is not a whole number"),
    ({"spec.members": 0}, "spec.members: 0 is not within 1 to 1000"),
    ({"spec.members": 1001}, "spec.members: 1001 is not within 1 to 1000"),
    ({"spec.memebrs": 1}, "spec.memebrs: is an unknown field; did you mean members?"),
    ({"spec.shutdownGrace": "61m"}, 'spec.shutdownGrace: "61m" is not within 0s to 1h'),
    ({"spec.shutdownGrace": 30}, "spec.shutdownGrace: 30 is not a duration; write for example 15m, 1h30m or 90s"),
    ({"spec.cycleInterval": "99ms"}, "is not within 100ms to 5m"),
    ({"spec.cycleInterval": "301s"}, "is not within 100ms to 5m"),
    ({"spec.memebrs": None}, "spec.memebrs: is an unknown field; did you mean members?"),
    ({"spec.frobnicate": 1}, "spec.frobnicate: is an unknown field; known here: generation, kafka, storage, output"),
    # kafka
    ({"spec.kafka": REMOVE}, "spec.kafka: is missing"),
    ({K + "bootstrapServers": REMOVE}, "spec.kafka.bootstrapServers: is missing"),
    ({K + "bootstrapServers": ""}, 'spec.kafka.bootstrapServers: "" is empty'),
    ({K + "bootstrapServers": ["a:1"]}, "spec.kafka.bootstrapServers: a list is not text"),
    ({K + "bootstrapServers": "broker"}, "has an entry that is not an address ('broker'); write host:port"),
    ({K + "bootstrapServers": "a:1,,b:2"}, "has an entry that is not an address ('')"),
    ({K + "bootstrapServers": "a b:1"}, "has an entry that is not an address"),
    ({K + "bootstrapServers": "a:port"}, "has an entry that is not an address"),
    ({K + "bootstrapServers": "::1:9092"}, "has an entry that is not an address"),
    ({K + "bootstrapServers": "a:0"}, "has a port outside 1..65535 (0)"),
    ({K + "bootstrapServers": "a:65536"}, "has a port outside 1..65535"),
    ({K + "bootstrapServers": "user:hunter2@a:1"}, "has credentials in it; put them in the Secret"),
    ({K + "bootstrapServers": "SASL_SSL://a:1"}, "has a scheme; write host:port only; the protocol is set in"),
    ({K + "groupId": "a/b"}, 'spec.kafka.groupId: "a/b" is not a group id that can also name a folder'),
    ({K + "groupId": "."}, "is not a group id"),
    ({K + "groupId": ""}, "is not a group id"),
    ({K + "groupId": "g" * 201}, "is longer than 200 characters"),
    ({K + "topics": REMOVE}, "spec.kafka.topics: is missing, and so is topicPattern; set one of them"),
    ({K + "topics": []}, "spec.kafka.topics: has 0 entries; give at least 1"),
    ({K + "topics": ["x"] * 1001}, "spec.kafka.topics: has 1001 entries; give at most 1000"),
    ({K + "topics": "clicks"}, 'spec.kafka.topics: "clicks" is not a list; write [a, b]'),
    ({K + "topics": ["a", "b c"]}, 'spec.kafka.topics[1]: "b c" is not a name that Kafka allows for a topic'),
    ({K + "topics": [".."]}, 'spec.kafka.topics[0]: ".." is not a name that Kafka allows'),
    ({K + "topics": ["x" * 250]}, "is longer than 249 characters"),
    ({K + "topics": [None]}, "spec.kafka.topics[0]: null is not text"),
    ({K + "topics": ["a", "b", "a"]}, 'spec.kafka.topics: a list with "a" twice; remove the repetition'),
    ({K + "topics": ["__consumer_offsets"]}, '"__consumer_offsets" is an internal topic of Kafka; remove it'),
    ({K + "topicPattern": "^web"}, 'spec.kafka.topicPattern: "^web" contradicts topics: only one of them can be set'),
    (by_pattern(topicPattern="web("), 'spec.kafka.topicPattern: "web(" is not a regular expression: missing )'),
    (by_pattern(topicPattern=""), 'spec.kafka.topicPattern: "" is empty or has a line break'),
    (by_pattern(topicPattern=r"(a)\1"), "refers back to a group; write the pattern without back references"),
    (by_pattern(topicPattern="(?i)web"), "has global flags; limit them to a group: (?i:pattern)"),
    (by_pattern(excludeTopicPattern="["), 'spec.kafka.excludeTopicPattern: "[" is not a regular expression'),
    (
        by_pattern(topicPattern="(?P<a>x)", excludeTopicPattern="(?P<a>y)"),
        "spec.kafka.topicPattern: cannot be combined with excludeTopicPattern",
    ),
    (by_pattern(excludeTopicPattern=r"(a)\1"), 'excludeTopicPattern: "(a)\\\\1" refers back to a group'),
    (by_pattern(excludeTopicPattern="(?i)a"), 'excludeTopicPattern: "(?i)a" has global flags'),
    ({K + "excludeTopicPattern": "test"}, 'spec.kafka.excludeTopicPattern: "test" needs topicPattern'),
    ({K + "startFrom": "beginning"}, 'spec.kafka.startFrom: "beginning" is neither earliest, latest nor an RFC 3339'),
    ({K + "startFrom": "2026-11-21"}, "is neither earliest, latest nor an RFC 3339 time"),
    ({K + "startFrom": "2026-11-21T00:00:00"}, "write earliest, latest, or a time with its offset such as"),
    ({K + "startFrom": "2026-02-30T00:00:00Z"}, "is a time that does not exist"),
    ({K + "startFrom": "1969-12-31T23:59:59Z"}, "is before 1970"),
    ({K + "isolationLevel": "none"}, '"none" is not allowed here; write one of: read_committed, read_uncommitted'),
    ({K + "onDataLoss": "ignore"}, "write one of: fail, skip"),
    ({K + "clientRack": "a b"}, "is not a rack"),
    ({K + "sessionTimeout": "5s"}, "is not within 6s to 30m"),
    ({K + "sessionTimeout": "31m"}, "is not within 6s to 30m"),
    ({K + "security": {"protocol": "TLS"}}, "write one of: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    (
        {K + "security": SASL | {"mechanism": "GSSAPI"}},
        'security.mechanism: "GSSAPI" is not allowed here; write one of',
    ),
    (
        {K + "security": {"protocol": "SASL_SSL", "secretName": "a"}},
        "mechanism: is missing: protocol SASL_SSL needs a way to log in; set it, for example to SCRAM-SHA-512",
    ),
    (
        {K + "security": {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN"}},
        "secretName: is missing: protocol SASL_PLAINTEXT needs credentials; name the Secret that holds them",
    ),
    ({K + "security": {"mechanism": "PLAIN"}}, 'mechanism: "PLAIN" contradicts protocol PLAINTEXT, which has no login'),
    (
        {K + "security": {"protocol": "SSL", "mechanism": "PLAIN", "secretName": "a"}},
        'spec.kafka.security.mechanism: "PLAIN" contradicts protocol SSL, which has no login',
    ),
    ({K + "security": {"secretName": "a"}}, "secretName: contradicts protocol PLAINTEXT, which uses no secret"),
    ({K + "security": {"verifyHostname": False}}, "verifyHostname: false contradicts protocol PLAINTEXT"),
    (
        {K + "security": {"caSecretName": "ca"}},
        "security.caSecretName: contradicts protocol PLAINTEXT, which has no certificates",
    ),
    ({K + "security": SASL | {"secretName": "Not A Name"}}, "security.secretName: is not the name of a Secret"),
    # storage
    ({"spec.storage": REMOVE}, "spec.storage: is missing"),
    ({S + "bucket": REMOVE}, "spec.storage.bucket: is missing"),
    ({S + "bucket": "ab"}, '"ab" is shorter than 3 characters'),
    ({S + "bucket": "b" * 64}, "is longer than 63 characters"),
    ({S + "bucket": "Logs"}, '"Logs" is not a name that S3 allows for a bucket'),
    ({S + "bucket": "logs-"}, "is not a name that S3 allows"),
    ({S + "bucket": "a..b"}, "has two dots in a row"),
    ({S + "bucket": "192.168.1.1"}, "is an address"),
    ({S + "bucket": "xn--bucket"}, "begins with a prefix that S3 reserves (xn--,"),
    ({S + "bucket": "bucket-s3alias"}, "ends with a suffix that S3 reserves (-s3alias,"),
    ({S + "bucket": "fast--use1-az4--x-s3"}, "is a directory bucket"),
    ({S + "prefix": "/raw"}, 'spec.storage.prefix: "/raw" begins with a slash'),
    ({S + "prefix": "raw/"}, "ends with a slash"),
    ({S + "prefix": "a//b"}, "has two slashes in a row"),
    ({S + "prefix": "a/../b"}, "has a folder named . or .."),
    ({S + "prefix": "."}, "has a folder named . or .."),
    ({S + "prefix": "a/_logpersister"}, "has the folder _logpersister, where logpersister keeps its own"),
    ({S + "prefix": "a b"}, "has a character that tools mistreat in object names"),
    ({S + "prefix": "ä"}, "has a character that tools mistreat"),
    ({S + "prefix": "p" * 401}, "is longer than 400 characters"),
    ({S + "endpoint": "127.0.0.1:9000"}, 'spec.storage.endpoint: "127.0.0.1:9000" is not an http or https URL'),
    ({S + "endpoint": "ftp://a"}, "is not an http or https URL"),
    ({S + "endpoint": "http://a/bucket"}, "has more than scheme, host and port"),
    ({S + "endpoint": "http://a?x=1"}, "has more than scheme, host and port"),
    ({S + "endpoint": "http://a:99999"}, "is not an http or https URL of a server; write scheme, host and port only"),
    ({S + "endpoint": "http://a:0"}, "is not an http or https URL of a server"),
    ({S + "endpoint": "http://[::1"}, "is not an http or https URL of a server; write scheme, host and port only"),
    ({S + "region": "eu central"}, "is not a region"),
    ({S + "secretName": "S3"}, "spec.storage.secretName: is not the name of a Secret"),
    ({S + "pathStyle": "auto"}, 'spec.storage.pathStyle: "auto" is neither true nor false'),
    ({S + "storageClass": "COLD"}, 'spec.storage.storageClass: "COLD" is not a storage class of AWS; write one of'),
    ({S + "storageClass": "a b", S + "endpoint": "http://a"}, "is not a storage class"),
    ({S + "encryption": {}}, "spec.storage.encryption.type: is missing"),
    ({S + "encryption": {"type": "AES"}}, "write one of: S3, KMS"),
    ({S + "encryption": {"type": "S3", "keyId": "k"}}, 'keyId: "k" contradicts type S3'),
    ({S + "encryption": {"type": "KMS", "keyId": "a b"}}, "is not the id, alias or ARN of a KMS key"),
    ({S + "partSize": "5M"}, '"5M" is not within 5Mi to 5Gi'),
    ({S + "partSize": "6Gi"}, "is not within 5Mi to 5Gi"),
    ({S + "verifyTls": False, S + "endpoint": "http://a"}, "verifyTls: false contradicts the http endpoint"),
    ({S + "caSecretName": "a", S + "endpoint": "http://a"}, "caSecretName: contradicts the http endpoint"),
    ({S + "caSecretName": "a", S + "verifyTls": False}, "caSecretName: contradicts verifyTls: false"),
    (
        {S + "endpoint": "https://user:hunter2@s3"},
        "has credentials in it; put them in the Secret that secretName names",
    ),
    ({S + "checksums": True}, "spec.storage.checksums: true is not allowed here"),
    # output
    (
        {F + "format": "rcfile"},
        'output.format: "rcfile" is not allowed here; write one of: text, sequencefile, parquet, jsonl, avro, orc',
    ),
    ({F + "parquet": {}}, "spec.output.parquet: contradicts format text; remove it, or set format to parquet"),
    ({F + "format": "parquet", F + "text": {}}, "spec.output.text: contradicts format parquet"),
    ({F + "jsonl": {}}, "spec.output.jsonl: is an unknown field"),
    (in_parquet(sortBy=[{"field": "a"}]), 'parquet.sortBy[0].field: "a" cannot have this option: it is no column'),
    (in_parquet(sortBy=[{"field": "kafka_key"}]), 'sortBy[0].field: "kafka_key" cannot have this option: it is no'),
    (
        in_parquet(sortBy=[{"field": "value"}, {"field": "kafka_headers"}], kafkaColumns=["headers"]),
        'sortBy[1].field: "kafka_headers" cannot have this option: values of type list<struct<key: binary',
    ),
    (
        rows({"name": "a", "type": "list<string>"}) | in_parquet(sortBy=[{"field": "a"}]),
        'sortBy[0].field: "a" cannot have this option: values of type list<string> have no order; name a field of text',
    ),
    (
        rows({"name": "a", "type": "struct<b: map<string, int8>>"}) | in_parquet(sortBy=[{"field": "a.b"}]),
        'sortBy[0].field: "a.b" cannot have this option: values of type map<string, int8> have no order',
    ),
    (
        in_parquet(sortBy=[{"field": "value"}] * 2),
        'parquet.sortBy[1].field: "value" is there before; remove one of them',
    ),
    (in_parquet(sortBy=[{"field": "value"}] * 9), "parquet.sortBy: has 9 entries; give at most 8"),
    (in_parquet(sortBy=[{"field": "a[]"}]), 'parquet.sortBy[0].field: "a[]" is not the path of a field'),
    (in_parquet(sortBy=[{"field": "value", "order": "up"}]), 'sortBy[0].order: "up" is not allowed here; write one of'),
    (in_parquet(sortBy=[{"field": "value", "nulls": "no"}]), 'sortBy[0].nulls: "no" is not allowed here; write one of'),
    (
        in_parquet(sortBy=[{"field": "value"}], rowGroupBytes="257Mi"),
        'parquet.rowGroupBytes: "257Mi" is more than 256Mi, and with sortBy a row group is sorted in memory; write',
    ),
    (in_parquet(fieldIds=numbered("value", first=0)), "parquet.fieldIds[0].id: 0 is not within 1 to 2147483446"),
    (
        in_parquet(fieldIds=numbered("value", "a")),
        'parquet.fieldIds[1].field: "a" cannot have this option: it is no column of the files',
    ),
    (
        in_parquet(fieldIds=numbered("value", "value")),
        'parquet.fieldIds[1].field: "value" is in fieldIds twice; give each column one id of its own',
    ),
    (
        in_parquet(fieldIds=[{"field": "value", "id": 7}, {"field": "kafka_key", "id": 7}], kafkaColumns=["key"]),
        "parquet.fieldIds[1].id: 7 is in fieldIds twice; give each column one id of its own",
    ),
    (
        rows({"name": "a", "type": "list<string>"}) | in_parquet(fieldIds=numbered("a")),
        "parquet.fieldIds: cannot have this option: column a.element has no id, and readers that go by ids would not",
    ),
    (
        in_table({"name": "id", "type": "int64"}) | in_parquet(fieldIds=numbered("id")),
        "parquet.fieldIds: contradicts spec.table: an Iceberg table numbers its columns itself; remove it, or",
    ),
    (
        {F + "format": "parquet", F + "parquet": {"bloomFilters": [{"field": "kafka_key"}]}},
        'output.parquet.bloomFilters[0].field: "kafka_key" cannot have this option: it is no column of the files; name',
    ),
    (
        rows({"name": "a", "type": "int8"})
        | {F + "format": "parquet", F + "parquet": {"withoutDictionary": ["value"]}},
        'output.parquet.withoutDictionary[0]: "value" cannot have this option: it is no column of the files; name a',
    ),
    (
        rows({"name": "a", "type": "bool"})
        | {F + "format": "parquet", F + "parquet": {"bloomFilters": [{"field": "a"}]}},
        'output.parquet.bloomFilters[0].field: "a" cannot have this option: it is of type bool; name a field of text',
    ),
    ({F + "orc": {}}, "spec.output.orc: contradicts format text; remove it, or set format to orc"),
    (
        {F + "format": "orc", F + "compression": "gzip"},
        "is not possible in format orc; write one of: zstd, snappy, zlib",
    ),
    ({F + "format": "orc", F + "orc": {"stripeBytes": "1Ki"}}, 'stripeBytes: "1Ki" is not within 64Ki to 1Gi'),
    ({F + "format": "orc", F + "orc": {"stripeBytes": "2Gi"}}, 'stripeBytes: "2Gi" is not within 64Ki to 1Gi'),
    ({F + "format": "orc", F + "tombstones": "empty"}, "spec.output.tombstones"),
    (
        rows({"name": "a", "type": "time[ms]"}) | {F + "format": "orc"},
        '"orc" cannot hold the columns: field a is of type time[ms], and ORC has no times of day; write string or',
    ),
    (
        rows({"name": "a", "type": "list<map<string, struct<b: list<time[us]>>>>"}) | {F + "format": "orc"},
        "field a[]{}.b[] is of type time[us], and ORC has no times of day",
    ),
    ({F + "format": "avro", F + "compression": "gzip"}, "is not possible in format avro; write one of: deflate, zstd"),
    (
        rows({"name": "user-id", "type": "string"}) | {F + "format": "avro"},
        'output.format: "avro" cannot hold the columns: field user-id has a name of more than letters, digits and _',
    ),
    (
        rows({"name": "a", "type": "list<map<string, struct<b: struct<$c: int8>>>>"}) | {F + "format": "avro"},
        "field a[]{}.b.$c has a name of more than letters, digits and _; choose another format, or give",
    ),
    ({F + "format": "jsonl", F + "compression": "snappy"}, "is not possible in format jsonl; write one of: gzip, zstd"),
    ({F + "format": "jsonl", F + "kafkaColumns": ["value"]}, "write one of: topic, partition, offset"),
    ({F + "format": "jsonl", F + "tombstones": "empty"}, "write one of: skip, null"),
    ({F + "format": "parquet", F + "compression": "deflate"}, "write one of: zstd, snappy, gzip, none"),
    ({F + "format": "parquet", F + "kafkaColumns": ["value"]}, "write one of: topic, partition, offset"),
    ({F + "format": "parquet", F + "kafkaColumns": ["key", "key"]}, 'a list with "key" twice'),
    ({F + "format": "parquet", F + "parquet": {"rowGroupBytes": "63Ki"}}, "is not within 64Ki to 1Gi"),
    ({F + "format": "parquet", F + "parquet": {"rowGroupBytes": "2Gi"}}, "is not within 64Ki to 1Gi"),
    ({F + "format": "parquet", F + "tombstones": "empty"}, "write one of: skip, null"),
    # schema
    (
        rows({"name": "id", "type": "int46"}),
        "fields[0].type: \"int46\" is not a type: there is no type 'int46' (position 1); did you mean int64?",
    ),
    (rows({"name": "id", "type": "xyz"}), "there is no type 'xyz' (position 1); write one of: bool, int8"),
    (rows({"name": "id", "type": "timestamp"}), "has no [ (position 10); write it as in timestamp[ms]"),
    (rows({"name": "id", "type": "time[ns]"}), "has an unknown unit 'ns' (position 8); write one of: ms, us;"),
    (rows({"name": "id", "type": "binary"}), "has no [ (position 7); write it as in binary[base64]"),
    (rows({"name": "id", "type": "binary[hex]"}), "has another word than base64"),
    (rows({"name": "id", "type": "decimal(39,2)"}), "has a decimal of 39 digits, 2 of them behind the point"),
    (rows({"name": "id", "type": "decimal(2,3)"}), "has a decimal of 2 digits, 3 of them behind the point"),
    (rows({"name": "id", "type": "decimal(a)"}), "has no number (position 9)"),
    (rows({"name": "id", "type": "list<string"}), "has no > (position 12); write it as in list<string>"),
    (rows({"name": "id", "type": "list<string not nil>"}), "has another word than null"),
    (rows({"name": "id", "type": "map<int32, string>"}), "has another word than string"),
    (rows({"name": "id", "type": "struct<>"}), "has no name (position 8)"),
    (rows({"name": "id", "type": "struct<a: int8, A: int8>"}), "has the field 'A' twice in one struct (position 18)"),
    (rows({"name": "id", "type": "int8 int8"}), "has more than one type (position 6); remove what follows"),
    (rows({"name": "id", "type": "list<" * 17 + "int8" + ">" * 17}), "is nested more than 16 deep"),
    (rows({"name": "id", "type": "int8!"}), "has more than one type (position 5)"),
    (rows({"name": "id", "type": "i" * 4097}), "is longer than 4096 characters"),
    (rows({"name": "a b", "type": "int8"}), '"a b" is no name for a column'),
    (rows({"name": "a.b", "type": "int8"}), "is no name for a column"),
    (rows({"name": "a" * 65, "type": "int8"}), "is no name for a column (at most 64 letters"),
    (rows({"name": "a" * 257, "type": "int8"}), "is longer than 256 characters"),
    (rows({"name": "Kafka_offset", "type": "int8"}), "no kafka_); give it another by spec.schema.rename"),
    (rows({"name": "a\u0001", "type": "int8"}), "is not the name of a field: it is empty, or has control characters"),
    (
        rows({"name": "s", "type": "int8"}, {"name": "st", "type": "list<struct<`a b`: int8>>"}),
        'spec.schema.fields[1].type: "st[].a b" is no name for a column',
    ),
    (rows({"name": "s", "type": "struct<`a b`: int8>"}), 'spec.schema.fields[0].type: "s.a b" is no name for a column'),
    (
        rows({"name": "id", "type": "int8"}, {"name": "ID", "type": "int8"}),
        'spec.schema.fields[1].name: "ID" is there before; case does not count; rename or remove one',
    ),
    (
        rows({"name": "id", "type": "int8", "format": "epoch[s]"}),
        'spec.schema.fields[0].format: "epoch[s]" is set, and the type has no timestamp',
    ),
    (
        rows({"name": "id", "type": "timestamp[s]", "format": "epoch"}),
        "is no notation of times; write rfc3339, iso8601, epoch[s]",
    ),
    (rows({"name": "at", "type": "timestamp[s]", "format": "pattern[yy-MM-dd]"}), "is no notation of times; write"),
    (
        rows({"name": "at", "type": "timestamp[s]", "format": "pattern[yyyy-MM-ddTHH:mm:ss]"}),
        "is no notation of times; write 'T' in quotes if it stands for itself; parts of a time are yyyy, MM, MMM, dd,",
    ),
    (
        rows({"name": "at", "type": "timestamp[s]", "format": "pattern[yyyyMMddhh]"}),
        "write 'hh' in quotes if it stands",
    ),
    (rows({"name": "at", "type": "timestamp[s]", "format": "epoch"}), "is no notation of times; write rfc3339,"),
    (rows({"name": "at", "type": "timestamp[s]", "format": "pattern[]"}), "is no notation of times; write"),
    (rows({"name": "at", "type": "timestamp[s]", "format": "pattern[yyyy]"}), f"{NO_INSTANT}; write yyyy, MM or MMM"),
    (rows({"name": "at", "type": "timestamp[s]", "format": "pattern[yyyy-MM-dd MMM]"}), NO_INSTANT),
    (rows({"name": "at", "type": "timestamp[s]", "format": "pattern[yyyy-MM-dd mm]"}), NO_INSTANT),
    (rows({"name": "at", "type": "timestamp[s]", "format": "pattern[yyyyMMMMdd]"}), NO_INSTANT),
    (rows({"name": "at", "type": "timestamp[s]", "format": f"pattern[yyyyMMddHHmmss{'S' * 10}]"}), NO_INSTANT),
    (rows({"name": "id", "type": "int8", "required": "yes"}), "is neither true nor false"),
    (rows(), "spec.schema.fields: has 0 entries; give at least 1"),
    (
        {"spec.parser": {"type": "json"}, "spec.schema": {}},
        "spec.schema.fields: is missing, and so are avro, protobuf, thrift, jsonSchema and registry",
    ),
    (by_registry(version=0), "spec.schema.registry.version: 0 is neither latest nor the number of a version; write"),
    (by_registry(version="newest"), 'version: "newest" is neither latest nor the number of a version; write latest'),
    (by_registry(version=2**31), "is neither latest nor the number of a version"),
    (
        by_registry(subject="{name}-value"),
        '"{name}-value" is not the name of a subject; write it without spaces',
    ),
    (by_registry(subject="a b"), "is not the name of a subject"),
    (
        by_avro("int", fields=[{"name": "id", "type": "int8"}]),
        '[{\\…" declares columns, and so does fields; remove one',
    ),
    (
        by_avro("int", registry=None) | {"spec.parser": {"type": "json"}},
        "spec.schema.avro: is for parser avro; name the columns in spec.schema.fields, or set spec.parse",
    ),
    (
        by_avro(avro='"string"'),
        "is not the JSON of an Avro schema of type record; write the schema as producers",
    ),
    (by_avro(avro="{}"), "spec.schema.avro: cannot be the columns: its values are no records; correct the schema"),
    (
        by_avro(avro="{" * 5000),
        "spec.schema.avro: cannot be the columns: it is no JSON: expecting property name enclosed",
    ),
    (
        by_avro(avro='{"type": "record",\n "name" "a"}'),
        "cannot be the columns: it is no JSON: expecting ':' delimiter at line 2, column 9; correct the schema",
    ),
    (
        by_avro(avro='{"type": "record", "name": "a"}'),
        "cannot be the columns: it is no Avro schema; correct the schema",
    ),
    (by_avro(avro="{" + " " * 100_000), "is longer than 100000 characters; shorten it"),
    (by_avro(), "spec.schema.avro: cannot be the columns: it has no fields; write a schema that has some"),
    (
        by_avro(["string", "int"]),
        "its field 'f0': it is one of several types; correct it, or name the columns in spec.schema.fields",
    ),
    (
        by_avro(*({"type": "array", "items": "int"} for _ in range(1001))),
        "cannot be the columns: it has more than 1000 columns at all depths together",
    ),
    (rows(*({"name": f"f{n}", "type": "int8"} for n in range(257))), "has 257 entries; give at most 256"),
    (
        rows(
            *({"name": f"f{n}", "type": "struct<" + ",".join(f"a{m}:int8" for m in range(5)) + ">"} for n in range(201))
        ),
        "spec.schema.fields: has more than 1000 columns at all depths together",
    ),
    (rows({"name": "id", "type": "int8"}) | {"spec.parser": {}}, "spec.schema: is set, and values are not parsed"),
    ({"spec.parser": {"type": "avro"}}, "spec.schema.registry: is missing, and parser avro has to learn by which"),
    (rows({"name": "id", "type": "int8"}) | {"spec.parser": {"type": "avro"}}, "spec.schema.registry: is missing"),
    (
        plain() | {"spec.parser": {"type": "protobuf"}},
        "spec.schema.registry: is missing, and values with a header name",
    ),
    (
        {
            "spec.parser": {"type": "protobuf", "framing": "plain"},
            "spec.schema": {"fields": [{"name": "a", "type": "int8"}]},
        },
        "spec.schema.protobuf: is missing, and values without a header do not say by which schema",
    ),
    (
        plain() | {"spec.parser": {"type": "json"}},
        "spec.schema.protobuf: is for parser protobuf; name the columns in spec.schema.fields, or set sp",
    ),
    (
        rows({"name": "id", "type": "int8"}) | {"spec.schema.message": "M"},
        "spec.schema.message: is for parser protobuf; name the columns in spec.schema.fields, or set spe",
    ),
    (
        rows({"name": "id", "type": "int8"}) | {"spec.parser": {"type": "thrift"}},
        "spec.schema.thrift: is missing, and values of Thrift do not say by which schema they were written; write the",
    ),
    (
        adjusting(unknownFields="keep", restColumn="kafka_rest"),
        'spec.parser.restColumn: "kafka_rest" begins with kafka_, which is for Kafka\'s own fields',
    ),
    (
        adjusting(unknownFields="keep", restColumn="USER"),
        'spec.parser.restColumn: "USER" is the name of a column of values, and so of what unknownFields keeps; case',
    ),
    (
        renaming("id=_rest") | {"spec.parser": {"type": "json", "unknownFields": "keep", "quarantine": QUIET}},
        'spec.parser.restColumn: "_rest" is the name of a column of values, and so of what unknownFields keeps; case',
    ),
    (
        keyed(column="_Rest", parser="json")
        | {"spec.parser": {"type": "json", "unknownFields": "keep", "quarantine": QUIET}, F + "format": "parquet"},
        'spec.parser.restColumn: "_rest" is the name of a column of values, and so of what unknownFields keeps; case',
    ),
    (
        adjusting(unknownFields="keep") | {F + "format": "text"},
        'spec.parser.unknownFields: "keep" adds a column, but the format stores values unchanged; remove it, or set',
    ),
    (
        adjusting(ONE, of="csv", unknownFields="keep", csv={"columns": ["id", "7"]}),
        "spec.parser.csv.columns: has a column that is named by a number, as further columns of values are",
    ),
    (
        thrift() | {"spec.parser": {"type": "thrift", "faults": {"wrongType": "setNull"}}},
        "spec.parser.faults: has choices that this parser does not have: the schema of each value says its types; keep",
    ),
    (
        adjusting(faults={"overflow": "convert"}),
        'spec.parser.faults.overflow: "convert" is not allowed here; write one of: refuse, setNull',
    ),
    (
        adjusting(ONE, of="csv", faults={"wrongType": "convert"}),
        'spec.parser.faults.wrongType: "convert" is done anyway with lines of text, where all values are',
    ),
    (renaming("phone=a"), 'spec.schema.rename[0].field: "phone" cannot be renamed: values have no such field; correct'),
    (renaming("id.a=a"), 'spec.schema.rename[0].field: "id.a" cannot be renamed: values have no such field; correct'),
    (renaming("user.phone=phone"), 'spec.schema.rename[0].field: "user.phone" cannot be renamed: to is the same name'),
    (renaming("id=a", "id=b"), 'spec.schema.rename[1].field: "id" cannot be renamed twice; name it once'),
    (renaming("id=User"), "spec.schema.rename: cannot be renamed: then two fields are user; case does not count"),
    (renaming("id=a.b"), 'spec.schema.rename[0].to: "a.b" is not a name for a column (letters of any script, digits'),
    (renaming("id=kafka_id"), 'spec.schema.rename[0].to: "kafka_id" begins with kafka_, which is for Kafka\'s own'),
    (
        renaming("user.phone=tel", mask=[{"fields": ["user.phone"]}]),
        'spec.schema.mask[0].fields[0]: "user.phone" cannot be hidden: spec.schema has no such field; correct the name',
    ),
    (
        renaming("id=number") | {F + "partitionBy": [{"field": "id", "prefix": "n="}]},
        'spec.output.partitionBy[0].field: "id" cannot name folders: spec.schema has no such field; name one ',
    ),
    (
        default("7"),
        'spec.schema.fields[0].default: "7" cannot be the default: it is no int8; write a value of the type',
    ),
    (default(128), "spec.schema.fields[0].default: 128 cannot be the default: it is no int8; write a value"),
    (default(True), "spec.schema.fields[0].default: true cannot be the default: it is no int8; write a value"),
    (default(1e39, "float32"), "spec.schema.fields[0].default: 1e+39 cannot be the default: it is no float32"),
    (default(0, "string"), "spec.schema.fields[0].default: 0 cannot be the default: it is no string"),
    (default(1.5, "decimal(3,2)"), "cannot be the default: it is no decimal(3,2); write it as text, exactly"),
    (default("1.505", "decimal(3,2)"), "cannot be the default: it is no decimal(3,2); write it as text, exactly"),
    (default("2026-02-29", "date"), 'default: "2026-02-29" cannot be the default: it is no date'),
    (default("24:00:00", "time[ms]"), 'default: "24:00:00" cannot be the default: it is no time'),
    (default("now", "timestamp[ms]"), 'default: "now" cannot be the default: it is no timestamp as rfc3339'),
    (default("0001-01-01T00:00:00+01:00", "timestamp[ms]"), "cannot be the default: it is no timestamp as rfc3339"),
    (default("2500-01-01T00:00:00Z", "timestamp[ns]"), "cannot be the default: it is no timestamp as rfc3339"),
    (
        default("0", "timestamp[s]", format="epoch[s]"),
        'default: "0" cannot be the default: it is no timestamp as epoch',
    ),
    (default("AB==", "binary[base64]"), 'default: "AB==" cannot be the default: it is no base64'),
    (default("{}", "json"), 'default: "{}" cannot be the default: fields of type json have none'),
    (default("a", "list<string>"), 'default: "a" cannot be the default: fields of type list have none'),
    (default("x" * 1001, "string"), "cannot be the default: it has more than 1000 characters"),
    (default([1]), "spec.schema.fields[0].default: a list cannot be the default: it is no text, number or bool"),
    (
        default(1) | {"spec.parser": {"type": "csv"}},
        "spec.schema.fields[0].default: is for fields that may be absent, and values of this parser lack",
    ),
    (
        thrift() | {"spec.parser": {"type": "json"}},
        "spec.schema.thrift: is for parser thrift; name the columns in spec.schema.fields, or set spec.p",
    ),
    (
        thrift() | {"spec.parser": {"type": "thrift", "thrift": {"protocol": "json"}}},
        'spec.parser.thrift.protocol: "json" is not allowed here; write one of: binary, compact',
    ),
    (
        thrift() | {"spec.parser": {"type": "thrift", "unknownFields": "refuse"}},
        'spec.parser.unknownFields: "refuse" is not possible with this parser: the schema of each value says which',
    ),
    (thrift("struct S { 1: S s }"), "spec.schema.thrift.idl: cannot be the columns: its field 's': S has itself in it"),
    (thrift("struct S { }"), "cannot be the columns: it has no fields; write a schema that has some"),
    (thrift("struct S { 1: uuid id }"), "cannot be the columns: its field 'id': it is a uuid; correct it"),
    (thrift('include "a" struct S { }'), "it includes another file: put what it needs of that into this text"),
    (thrift("struct S { 1: i32 a } struct T { }"), "it has several structs, and none is named; write one of: S, T"),
    (
        thrift(struct="T"),
        'spec.schema.thrift.struct: "T" cannot be the columns: the schema has no such struct; write one',
    ),
    (thrift("struct Order { 1: i32 a }", struct="order"), "the schema has no such struct; did you mean Order?"),
    (
        thrift("struct S { 1: }"),
        "spec.schema.thrift.idl: cannot be the columns: its line 1 has '}' where a name is expected; correct the",
    ),
    (thrift(struct="a.T"), "is not the name of a struct; write it as the IDL has it"),
    (thrift("("), "is no text of Thrift's IDL with a struct; write the .thrift file as producers have it"),
    (
        thrift(fields=[{"name": "id", "type": "string"}]),
        'spec.schema.fields[0].type: "string" cannot be the columns: id: it is i32 there, which cannot become string;',
    ),
    (
        thrift(fields=[{"name": "id", "type": "int8"}, {"name": "no", "type": "int8"}]),
        'spec.schema.fields[1].name: "no" cannot be the columns: the struct S has no such field; remove it, or',
    ),
    (
        thrift("struct S { 1: T t } struct T { 1: i32 id }", "S", fields=[{"name": "t", "type": "struct<ids: int8>"}]),
        '[0].type: "struct<ids: int8>" cannot be the columns: t.ids: the struct T has no such field; did you mean id?',
    ),
    (plain("message M {}}"), "cannot be the columns: it has '}' where a message, an enum or an import is"),
    (plain("message M { }"), "cannot be the columns: it has no fields; write a schema that has some"),
    (plain("message M { int64 = 1; }"), "its line 1 has '=' where a name is expected; correct the schema"),
    (
        plain('import "common.proto"; message M { common.Id id = 1; }'),
        "common.Id, which is not there, and neither is common.proto, which it imports; write a descriptor set of",
    ),
    (plain("message M { optional M a = 1; }"), "cannot be the columns: its field 'a': M has itself in it"),
    (plain("("), "cannot be the columns"),
    (
        plain(message="N"),
        'spec.schema.message: "N" cannot be the columns: the schema has no such message; write one of: M',
    ),
    (
        plain(message="N", fields=[{"name": "id", "type": "int8"}]),
        'spec.schema.message: "N" cannot be the columns: the schema has no such message; write one of: M',
    ),
    (
        plain("".join(f"message M{n} {{ message I {{}} }}" for n in range(4)), message="X"),
        "the schema has no such message; write one of: M0, M0.I, M1, M1.I, M2 (and 3 more)",
    ),
    (plain("package shop; message Order { int64 id = 1; }", message="shop.order"), "did you mean shop.Order?"),
    (plain("  "), "is neither a .proto text nor a descriptor set in base64; write the text of the producers' .proto"),
    (plain(message="1"), "is not the name of a message; write it with its package"),
    (plain("a;" + " " * 200_000), "is longer than 200000 characters; shorten it"),
    (
        {"spec.parser": {"type": "json", "framing": "apicurio"}},
        "spec.schema: is missing, and values would be stored with their header; name the fields of the documents",
    ),
    (
        {"spec.parser": {"type": "json", "quarantine": {"holdAbove": "101%"}}},
        'spec.parser.quarantine.holdAbove: "101%" is not within 0% to 100%',
    ),
    (
        {F + "format": "parquet", F + "parquet": {"pageBytes": "17Mi"}},
        'spec.output.parquet.pageBytes: "17Mi" is not within 16Ki to 16Mi',
    ),
    (
        {F + "format": "parquet", F + "parquet": {"pageBytes": "1Ki"}},
        'spec.output.parquet.pageBytes: "1Ki" is not within 16Ki to 16Mi',
    ),
    (
        avro(unknownFields="refuse"),
        'spec.parser.unknownFields: "refuse" is not possible with this parser: the schema of each value',
    ),
    (lines("csv", delimiter="a"), "is not one ASCII character (no letter, digit or line break); write for example"),
    (lines("csv", delimiter="\n"), "is not one ASCII character (no letter, digit or line break); write for example"),
    (
        lines("csv", delimiter=",,"),
        '",," is not one ASCII character (no letter, digit or line break); write for example',
    ),
    (
        lines("csv", quote="\u00e4"),
        "is neither one ASCII character (no letter, digit or line break) nor empty; write the",
    ),
    (lines("csv", quote=","), 'spec.parser.csv.quote: "," is also the delimiter, or the same as escape; choose three'),
    (lines("csv", escape='"'), "is also the delimiter, or the same as escape; choose three different characters"),
    (lines("csv", nullText="\n"), "is not a text of one line; write what stands for null, for example NULL or \\N"),
    (lines("csv", columns=["id", "id"]), "spec.parser.csv.columns"),
    (lines("csv", columns=["id", "a\nb"]), "is not a name of one line; write the name that the column has, or any"),
    (
        lines("csv", columns=["x"]),
        'spec.schema.fields[0].name: "id" is not a field of the values; add it to',
    ),
    (
        lines("csv", {"name": "id", "type": "list<int8>"}),
        'spec.schema: "id: list<int8>" is a struct, list or map, which lines of text do not have; take string',
    ),
    (lines("regex", pattern="("), "is not a pattern: it has a ( without a ) at character 1; correct it, or take a"),
    (
        lines("regex", pattern="(?P<x>a)(?P<id>b)"),
        "pattern: has a group whose name is not a field of spec.schema: x; add the field x, or write (?:...)",
    ),
    (lines("regex", pattern="a"), 'fields[0].name: "id" is not a field of the values; write for'),
    (lines("csv") | {"spec.parser": {"type": "regex"}}, "spec.parser.regex: is missing, and parser regex needs a"),
    (lines("regex", pattern=""), "is empty; write for example (?P<level>"),
    ({"spec.parser": {"type": "csv"}}, "spec.schema: is missing, and this parser makes rows of it; name the"),
    ({"spec.parser": {"type": "messagepack"}}, "spec.schema: is missing, and this parser makes rows of it; name the"),
    (
        rows({"name": "id", "type": "json"}) | {"spec.parser": {"type": "messagepack"}},
        'spec.schema: "id: json" has json in it, which Avro and MessagePack values do not have; write the typ',
    ),
    (
        avro({"name": "id", "type": "list<json>"}),
        'spec.schema: "id: list<json>" has json in it, which Avro and MessagePack values do not have; write t',
    ),
    *(
        (rows({"name": "id", "type": theirs}), f"there is no type {theirs!r} (position 1); did you mean {ours}?")
        for theirs, ours in OF_OTHERS
    ),
    (rows({"name": "id", "type": "list<INT>"}), "there is no type 'INT' (position 6); did you mean int32?"),
    (rows({"name": "id", "type": "timestamp"}), "it has no [ (position 10); write it as in timestamp[ms]"),
    (avro(url="registry:8081"), "is not an http or https URL of a schema registry, and no glue://REGION/REGISTRY"),
    (avro(url="https://me:secret@registry"), "has credentials in it; put them in the Secret that secretName names"),
    (
        rows({"name": "Dt", "type": "int8"})
        | {F + "format": "parquet", F + "partitionBy": [{"date": {"granularity": "day"}}]},
        'spec.schema: "Dt" is also the name of a folder of output.partitionBy, and readers take both for one ',
    ),
    (
        adjusting(schema={"rename": [{"field": "id", "to": "dt"}]}, quarantine=QUIET)
        | {F + "partitionBy": [{"offset": {"every": 5}}, {"date": {"granularity": "day"}}]},
        'spec.schema: "dt" is also the name of a folder of output.partitionBy, and readers take both for one ',
    ),
    (
        renaming("id=dt") | {F + "partitionBy": [{"date": {"granularity": "day"}}]},
        'spec.schema: "dt" is also the name of a folder of output.partitionBy, and readers take both for one ',
    ),
    (
        keyed(column="dt") | dated("mail", format="iso8601") | {F + "format": "parquet"},
        'spec.schema: "dt" is also the name of a folder of output.partitionBy, and readers take both for one ',
    ),
    (
        adjusting(unknownFields="keep", restColumn="dt") | {F + "partitionBy": [DAY]},
        'spec.schema: "dt" is also the name of a folder of output.partitionBy, and readers take both for one ',
    ),
    (
        by_avro("string") | {F + "format": "parquet", F + "partitionBy": [{"field": "f0"}]},
        'spec.schema: "f0" is also the name of a folder of output.partitionBy, and readers take both for one ',
    ),
    (
        {F + "compression": "lz4"},
        'spec.output.compression: "lz4" is not allowed here; write one of: none, gzip, deflate, zstd, snappy,',
    ),
    (
        {F + "format": "parquet", F + "compression": "lz4"},
        'spec.output.compression: "lz4" is not allowed here; write one of: none, gzip, deflate, zstd, snappy,',
    ),
    (
        {F + "format": "orc", F + "compression": 5},
        "spec.output.compression: 5 is not allowed here; write one of: none, gzip, deflate, zstd, snappy, zli",
    ),
    (
        rows({"name": "m", "type": "map<string, struct<a: int8>>"}) | {F + "partitionBy": [{"lower": "m.x.a"}]},
        'spec.output.partitionBy[0].lower: "m.x.a" cannot name folders: spec.schema has no such field; name o',
    ),
    (
        rows({"name": "id", "type": "int8"}) | dated("key.at"),
        "spec.schema.key is missing, so that keys become no column",
    ),
    (
        rows({"name": "country", "type": "string"}) | {F + "partitionBy": [{"field": "contry"}]},
        'spec.output.partitionBy[0].field: "contry" cannot name folders: spec.schema has no such field; name ',
    ),
    ({F + "partitionBy": ["a b"]}, '"a b" is not a mapping; write its fields below it, as `name: value` lines'),
    (
        by_avro(avro={"type": "record"}),
        "spec.schema.avro: a mapping is not text; put it in quotes, or begin a block of text with |",
    ),
    (
        by_avro(writers=[{"type": "record"}]),
        "spec.schema.writers[0]: a mapping is not text; put it in quotes, or begin a block of text with |",
    ),
    ({F + "compression": "deflate"}, '"deflate" is not possible in format text; write one of: gzip, zstd, none'),
    (
        {F + "format": "sequencefile", F + "compression": "gzip"},
        '"gzip" is not possible in format sequencefile; write one of: deflate, none',
    ),
    ({F + "sequencefile": {}}, "spec.output.sequencefile: contradicts format text; remove it, or set format to"),
    ({F + "format": "sequencefile", F + "text": {}}, "spec.output.text: contradicts format sequencefile"),
    ({F + "text": {"delimiter": ""}}, 'delimiter: "" is not 1 to 16 bytes long'),
    ({F + "text": {"delimiter": "ä" * 9}}, "is not 1 to 16 bytes long"),
    ({F + "text": {"delimiter": "x", "delimiterInValue": "escape"}}, "has a letter, digit or backslash"),
    ({F + "text": {"delimiter": "\\", "delimiterInValue": "escape"}}, "has a letter, digit or backslash"),
    ({F + "text": {"delimiterInValue": "drop"}}, "write one of: keep, escape"),
    ({F + "tombstones": "null"}, "write one of: skip, empty"),
    ({F + "format": "sequencefile", F + "sequencefile": {"key": "text"}}, "write one of: longwritable, messagepack"),
    ({F + "partitionBy": [{}]}, f"spec.output.partitionBy[0]: {NO_LEVEL}"),
    ({F + "partitionBy": [{"date": {"granularity": "day"}, "offset": {"every": 1}}]}, f"partitionBy[0]: {NO_LEVEL}"),
    ({F + "partitionBy": [{"offset": {"every": 1}, "prefix": "o="}]}, 'prefix: "o=" is only for levels by a field'),
    ({F + "partitionBy": [{"field": "a..b"}]}, '[0].field: "a..b" is not the path of a field'),
    (
        {F + "partitionBy": [{"field": "id"}]},
        '[0].field: "id" cannot name folders: there is no spec.schema; declare the field in',
    ),
    (
        rows({"name": "id", "type": "int64"}) | {F + "partitionBy": [{"lower": "id"}]},
        'spec.output.partitionBy[0].lower: "id" cannot name folders: it is not text; name another field',
    ),
    (
        rows({"name": "id", "type": "int64"}) | {F + "partitionBy": [{"date": {"granularity": "day", "field": "id"}}]},
        'field: "id" cannot name folders by time: it is int64, and nothing says what time its values are; set format',
    ),
    (
        rows({"name": "id", "type": "string"}) | dated("id"),
        "by time: it is string, and nothing says what time its values are; set format beside it, for example iso8601",
    ),
    (
        rows({"name": "id", "type": "float64"}) | dated("id", format="epoch[s]"),
        'date.field: "id" cannot name folders: it is not a timestamp, a date, text or a whole number',
    ),
    (
        rows({"name": "id", "type": "int64"}) | dated("id", format="iso8601"),
        'date.format: "iso8601" cannot name folders: it is a notation of text, and id is int64; write epoch[s],',
    ),
    (
        rows({"name": "at", "type": "timestamp[ms]"}) | dated("at", format="epoch[s]"),
        'date.format: "epoch[s]" cannot name folders: at is timestamp[ms], which says its time by itself; remove it',
    ),
    (
        rows({"name": "on", "type": "date"}) | dated("on", granularity="hour"),
        'date.granularity: "hour" cannot name folders: on is a date, which has no hours; set it to day',
    ),
    (
        rows({"name": "on", "type": "date"}) | dated("on", timezone="Europe/Berlin"),
        'date.timezone: "Europe/Berlin" cannot name folders: on is a date, the same in all time zones; remove it',
    ),
    (
        rows({"name": "at", "type": "string"}, {"name": "id", "type": "int8"})
        | dated("at", format="iso8601")
        | {F + "format": "jsonl", "spec.schema.mask": [{"fields": ["at"]}]}
        | {"spec.parser.quarantine": {"keepValue": True}},
        'date.field: "at" cannot name folders by time: it is hidden; name another field, or do not hash or mask it',
    ),
    (
        {F + "partitionBy": [{"date": {"granularity": "day", "format": "epoch[s]"}}]},
        'partitionBy[0].date.format: "epoch[s]" is set, and the record\'s timestamp needs none; name the field',
    ),
    (
        rows({"name": "x", "type": "float64"}) | {F + "partitionBy": [{"bucket": {"field": "x", "count": 4}}]},
        'spec.output.partitionBy[0].bucket.field: "x" cannot name folders: it is not text or a whole number',
    ),
    (
        rows({"name": "\u6ce8" * 43, "type": "string"}) | {F + "partitionBy": [{"field": "\u6ce8" * 43}]},
        "cannot name folders: its name has too many bytes in UTF-8; set prefix, for example value=",
    ),
    (
        rows({"name": "_pa\u00eds", "type": "string"}) | {F + "partitionBy": [{"field": "_pa\u00eds"}]},
        "cannot name folders, whose names begin with a letter or digit; set prefix, for example value=",
    ),
    (
        rows({"name": "_id", "type": "int64"}) | {F + "partitionBy": [{"field": "_id"}]},
        '"_id" cannot name folders, whose names begin with a letter or digit; set prefix, for example id=',
    ),
    (
        rows({"name": "a", "type": "struct<id: int8>"}, {"name": "id", "type": "int8"})
        | {F + "partitionBy": [{"field": "a.id"}, {"field": "id"}]},
        "spec.output.partitionBy[1]: has the folders of another level: id= is that of partitionBy[0], too; give one",
    ),
    (
        rows({"name": "a", "type": "struct<dt: int8>"})
        | {F + "partitionBy": [{"field": "a.dt"}, {"date": {"granularity": "day"}}]},
        "dt= is that of partitionBy[1], too; give one of them a prefix of its own, for example a_dt=",
    ),
    (
        rows({"name": "id", "type": "int8"}) | {F + "format": "parquet", F + "partitionBy": [{"field": "id"}]},
        'spec.schema: "id" is also the name of a folder of output.partitionBy, and readers take both for one ',
    ),
    (
        {F + "partitionBy": [{"date": {"granularity": "day"}}] * 2},
        "spec.output.partitionBy[1]: is the same level as partitionBy[0]; remove one of them",
    ),
    ({F + "partitionBy": [{"offset": {"every": n}} for n in range(1, 6)]}, "has 5 entries; give at most 4"),
    ({F + "partitionBy": [{"date": {}}]}, "spec.output.partitionBy[0].date.granularity: is missing"),
    ({F + "partitionBy": [{"date": {"granularity": "week"}}]}, "write one of: year, month, day, hour, minute"),
    (
        {F + "partitionBy": [{"date": {"granularity": "day", "timezone": "Mars/Base"}}]},
        'spec.output.partitionBy[0].date.timezone: "Mars/Base" is no time zone of the IANA database; write UTC',
    ),
    ({F + "partitionBy": [{"date": {"granularity": "day", "timezone": "../UTC"}}]}, "is not a time zone"),
    ({F + "partitionBy": [{"date": {"granularity": "day", "timezone": "America"}}]}, "is no time zone"),
    ({F + "partitionBy": [{"date": {"granularity": "day", "prefix": "a/b="}}]}, "cannot begin a folder's name"),
    ({F + "partitionBy": [{"date": {"granularity": "day", "prefix": "_logpersister"}}]}, "cannot begin a folder's"),
    ({F + "partitionBy": [{"offset": {"every": 0}}]}, "partitionBy[0].offset.every: 0 is not within 1 to"),
    ({F + "partitionBy": [{"ofset": {"every": 1}}]}, "partitionBy[0].ofset: is an unknown field; did you mean offset?"),
    # upload
    ({U + "maxBytes": "12 parsecs"}, 'spec.upload.maxBytes: "12 parsecs" is not a size; write for example 256Mi (Ku'),
    ({U + "maxBytes": "256MB"}, "is not a size; write for example 256Mi (Kubernetes quantity), without the B"),
    ({U + "maxBytes": 1.5}, "spec.upload.maxBytes: 1.5 is not a size"),
    ({U + "maxBytes": True}, "spec.upload.maxBytes: true is not a size"),
    ({U + "maxBytes": ["1Mi"]}, "spec.upload.maxBytes: a list is not a size"),
    ({U + "maxBytes": "63Ki"}, '"63Ki" is not within 64Ki to 5Ti'),
    ({U + "maxBytes": "6Ti"}, "is not within 64Ki to 5Ti"),
    (
        {U + "maxBytes": "1Ti"},
        (
            'spec.upload.maxBytes: "1Ti" does not fit into 10000 parts of storage.partSize 16Mi; lower it, or set '
            "spec.storage.partSize to 105Mi or more"
        ),
    ),
    ({U + "maxAge": "999ms"}, '"999ms" is not within 1s to 30d'),
    ({U + "maxAge": "31d"}, "is not within 1s to 30d"),
    (
        {U + "maxAge": "15"},
        'spec.upload.maxAge: "15" is not a duration; write for example 15m, 1h30m or 90s, with its un',
    ),
    # overrides
    (
        {OF: [{"topics": ["clicks"]}]},
        "spec.overrides[0]: a mapping changes nothing; set parser, schema, outp",
    ),
    ({OF: [{"output": {}}]}, "spec.overrides[0]: a mapping is not exactly one of topics and topicPattern"),
    (
        {OF: [{"topics": ["clicks"], "topicPattern": "a", "output": {}}]},
        "is not exactly one of topics and topicPattern",
    ),
    (
        {OF: [{"topics": ["cliks"], "output": {}}]},
        'spec.overrides[0].topics[0]: "cliks" is no topic that spec.kafka sel',
    ),
    (
        {OF: [{"topicPattern": "^c", "output": {}}, {"topics": ["clicks"], "output": {}}]},
        'spec.overrides[1].topics[0]: "clicks" is already named by spec.overrides[0], and the first entry applies',
    ),
    ({OF: [{"topicPattern": "*", "keep": []}]}, 'overrides[0].topicPattern: "*" is not a regular exp'),
    ({OF: [{"topicPattern": r"(a)\1", "keep": []}]}, "refers back to a group"),
    ({OF: [{"topicPattern": "(?i)a", "keep": []}]}, "has global flags"),
    ({OF: {}}, "spec.overrides: a mapping is not a list"),
    ({OF: [{"topicPattern": "a", "upload": {"maxAge": "10ms"}}]}, "is not within 1s to 30d"),
    ({OF: [{"topicPattern": "a", "upload": {"maxBytes": 65535}}]}, "65535 is not within 64Ki to 5Ti"),
    ({OF: [{"topics": ["clicks"], "upload": {}}]}, "spec.overrides[0].upload: a mapping changes nothing; set maxBytes"),
    (
        {OF: [{"topics": ["clicks"], "upload": {"maxBytes": "5Ti"}}]},
        'spec.overrides[0].upload.maxBytes: "5Ti" does not fit into 10000 parts of storage.partSize 16Mi; lower it',
    ),
    (
        {OF: [{"topics": ["clicks"], "parser": {"type": "avro"}}]},
        "spec.overrides[0]: does not go together with spec.schema.registry, which then is missing, and parser avro has",
    ),
    (
        {OF: [{"topics": ["clicks"], "schema": {"fields": [{"name": "a", "type": "int8"}]}}]},
        "spec.overrides[0].schema: is set, and values are not parsed; set spec.parser.type, for example to json",
    ),
    (
        {OF: [{"topics": ["clicks"], "output": {"partitionBy": [{"field": "a"}]}}]},
        'spec.overrides[0].output.partitionBy[0].field: "a" cannot name folders: there is no spec.schema',
    ),
    (
        {
            OF: [{"topics": ["clicks"], "upload": {"maxAge": "2d"}}],
            "spec.autoscale": {"maxMembers": 2, "targetLag": "1d"},
        },
        "spec.overrides[0]: does not go together with spec.autoscale.targetLag, which then is not longer than",
    ),
    ({OF: [{"topicPattern": r"(a)\1", "output": {}}]}, "spec.overrides[0].topicPattern: "),
    ({OF: [{"topicPattern": "(?i)a", "output": {}}]}, "has global flags"),
    # spark
    ({"spec.spark": {"executors": -1}}, "spec.spark.executors: -1 is not within 0 to 1000"),
    ({"spec.spark": {"executors": 1001}}, "spec.spark.executors: 1001 is not within 0 to 1000"),
    (
        {"spec.spark": {"executors": 1, "maxExecutors": 2}},
        "spec.spark.executors: 1 contradicts maxExecutors: their number",
    ),
    ({"spec.spark": {"minExecutors": 1}}, "spec.spark.minExecutors: 1 needs maxExecutors; set it"),
    ({"spec.spark": {"minExecutors": 3, "maxExecutors": 2}}, "spec.spark.minExecutors: 3 is more than maxExecutors"),
    ({"spec.spark": {"conf": {"spark." + "x" * 248: ""}}}, "is longer than 253 characters; shorten it"),
    ({"spec.spark": {"conf": {"spark.x y": ""}}}, "is not a Spark setting"),
    ({"spec.spark": {"conf": {"spark.x": "y" * 4001}}}, "spec.spark.conf"),
    (
        {"spec.spark": {"executorPodTemplate": {"sepc": {}}}},
        "executorPodTemplate.sepc: is an unknown field; did you mean",
    ),
    ({"spec.image": "logpersister 1"}, 'spec.image: "logpersister 1" is not the reference of an image'),
    ({"spec.serviceAccount": {"name": "Writer"}}, 'serviceAccount.name: "Writer" is not the name of a service account'),
    ({"spec.serviceAccount": {"name": "a..b"}}, "spec.serviceAccount.name"),
    ({"spec.serviceAccount": {"name": "a" * 254}}, "spec.serviceAccount.name"),
    ({"spec.serviceAccount": {"annotations": {"a": 1}}}, "spec.serviceAccount.annotations.a"),
    ({"spec.serviceAccount": {"annotations": {"a": "b\nc"}}}, "has a line break or another control character"),
    (
        {"spec.serviceAccount": {"name": "writer", "annotations": {"a": "b"}}},
        "spec.serviceAccount.annotations: are for accounts that the operator makes",
    ),
    (
        {"spec.podTemplate": {"spec": {"containers": [{"name": "member", "image": "x"}]}}},
        "spec.podTemplate: sets the image of our container",
    ),
    (
        {"spec.spark": {"executorPodTemplate": {"spec": {"containers": [{"name": "executor", "image": "x"}]}}}},
        "spec.spark.executorPodTemplate: sets the image of our container",
    ),
    ({"spec.podTemplate": {"spec": []}}, "spec.podTemplate.spec: a list is not a mapping"),
    ({"spec.podTemplate": {"metadata": {"labels": {"a": 1}}}}, "spec.podTemplate.metadata.labels.a: 1 is not text"),
    ({"spec.autoscale": {}}, "spec.autoscale.maxMembers: is missing"),
    ({"spec.autoscale": {"maxMembers": 0}}, "spec.autoscale.maxMembers: 0 is not within 1 to 1000"),
    (
        {"spec.autoscale": {"minMembers": 3, "maxMembers": 2}},
        "spec.autoscale.maxMembers: 2 is less than minMembers; raise it",
    ),
    (
        {"spec.autoscale": {"maxMembers": 2, "targetLag": "15m"}},
        'spec.autoscale.targetLag: "15m" is not longer than upload.maxAge',
    ),
    (
        {"spec.autoscale": {"maxMembers": 2, "targetLag": "15m"}},
        'spec.autoscale.targetLag: "15m" is not longer than upload.maxAge',
    ),
    (
        {
            OF: [{"topicPattern": "b", "upload": {"maxAge": "1d"}}],
            "spec.autoscale": {"maxMembers": 2, "targetLag": "16m"},
        },
        "spec.overrides[0]: does not go together with spec.autoscale.targetLag, which then is not longer than upload.m",
    ),
    (
        {"spec.autoscale": {"maxMembers": 2}, "spec.targetLag": "15m"},
        'spec.targetLag: "15m" is not longer than upload.maxAge, and autoscale uses it; raise it',
    ),
    ({"spec.autoscale": {"maxMembers": 2, "scaleUpStabilization": "0s"}}, '"0s" is not within 1s to 1h'),
    ({"spec.autoscale": {"maxMembers": 2, "scaleUpStabilization": "2h"}}, '"2h" is not within 1s to 1h'),
    ({"spec.autoscale": {"maxMembers": 2, "scaleDownStabilization": "0s"}}, '"0s" is not within 1s to 1d'),
    ({"spec.autoscale": {"maxMembers": 2, "scaleDownStabilization": "2d"}}, '"2d" is not within 1s to 1d'),
    ({"spec.autoscale": {"maxMembers": 2, "targetLag": "0s"}}, '"0s" is not within 1s to 365d'),
    ({"spec.autoscale": {"maxMembers": 2, "targetLag": "366d"}}, '"366d" is not within 1s to 365d'),
    ({"spec.targetLag": "0s"}, 'spec.targetLag: "0s" is not within 1s to 365d'),
    ({"spec.autoRepair.restartAfter": "999ms"}, "is not within 1s to 1d"),
    (finishing(manifestName="_SUCCESS"), "spec.finish.manifestName: "),
    (finishing(allowedLateness="31d"), "is not within 0s to 30d"),
    (finishing(idleAfter="31d"), "is not within 1s to 30d"),
    (finishing(idleAfter="999ms"), "is not within 1s to 30d"),
    (finishing(policy=[]), "spec.finish.policy: "),
    (finishing(policy=["done"], outerLevels=True), "spec.finish.outerLevels: true is about the files of successFile"),
    (finishing(policy=["webhook"]), "spec.finish.webhook: has webhook in policy or a webhook, but not both"),
    (finishing(webhook={"url": "http://h"}), "spec.finish.webhook: has webhook in policy or a webhook, but not both"),
    (finishing(policy=["kafka"]), "spec.finish.kafka: has kafka in policy or a topic, but not both"),
    (
        finishing(policy=["kafka"], kafka={"topic": "__consumer_offsets"}),
        '"__consumer_offsets" is an internal topic of Kafka; remove it',
    ),
    (
        finishing(policy=["webhook"], webhook={"url": "http://h", "timeout": "999ms"}),
        '"999ms" is not within 1s to 1m',
    ),
    (finishing(kafka={"topic": "told"}), "spec.finish.kafka: has kafka in policy or a topic, but not both"),
    (finishing(policy=["webhook"], webhook={"url": "ftp://h"}), "is not an http or https URL"),
    (finishing(policy=["webhook"], webhook={"url": "http://u:p@h"}), "has credentials in it"),
    (finishing(policy=["webhook"], webhook={"url": "http://h", "timeout": "61s"}), "is not within 1s to 1m"),
    (finishing(trigger="event-time"), "spec.finish.trigger: "),
    (finishing(late="drop"), "spec.finish.late: "),
    (
        finishing(late="quarantine") | hashing("mail"),
        'spec.finish.late: "quarantine" puts records into quarantine that are good, but their values would not be',
    ),
    (
        finishing(late="quarantine") | {"spec.parser": {"type": "json", "quarantine": QUIET}},
        'spec.finish.late: "quarantine" puts records into quarantine that are good',
    ),
    (
        finishing(late="quarantine") | hashing("mail", quarantine={"holdAbove": "0%"}),
        'spec.finish.late: "quarantine" puts records into quarantine that are good',
    ),
    (finishing(successFileName="SUCCESS"), "is not the name of a file that query engines pass over"),
    ({"spec.autoRepair.maxRestartsPerHour": 11}, "spec.autoRepair.maxRestartsPerHour: 11 is not within 0 to 10"),
    ({"spec.targetLag": "366d"}, 'spec.targetLag: "366d" is not within 1s to 365d'),
    ({"spec.networkPolicy": True}, "spec.networkPolicy: true is not allowed here; write one of: None, Restricted"),
    # rollout
    ({R + "strategy": "BlueGreen"}, "write one of: Canary, Recreate"),
    ({R + "onFailure": "Abort"}, "write one of: Rollback, Pause"),
    ({R + "attempt": -1}, "spec.rollout.attempt: -1 is not within 0 to 2147483647"),
    ({R + "canary": {"members": 0}}, "spec.rollout.canary.members: 0 is not within 1 to 1000"),
    ({A + "maxLagGrowth": 20}, "analysis.maxLagGrowth: 20 is not a percentage; write for example 20%"),
    ({A + "maxLagGrowth": "2.5%"}, "is not a percentage"),
    ({A + "maxQuarantineRatio": 0.01}, "analysis.maxQuarantineRatio: 0.01 is not a percentage; write for example 20%"),
    ({A + "maxQuarantineRatio": "0.5%"}, "is not a percentage"),
    ({A + "maxQuarantineRatio": "101%"}, '"101%" is not within 0% to 100%'),
    ({A + "maxLagGrowth": "1001%"}, '"1001%" is not within 0% to 1000%'),
    (
        {A + "duration": "10m"},
        'spec.rollout.progressDeadline: "10m" is not longer than canary.analysis.duration; raise',
    ),
    ({R + "progressDeadline": "5m"}, '"5m" is not longer than canary.analysis.duration'),
    ({A + "duration": "0s", R + "progressDeadline": "999ms"}, "is not within 1s to 7d"),
    ({R + "progressDeadline": "8d"}, "is not within 1s to 7d"),
    ({A + "duration": "1d1ms", R + "progressDeadline": "2d"}, "is not within 0s to 1d"),
    ({R + "strategy": "Recreate", R + "canary": {}}, "rollout.canary: contradicts strategy Recreate"),
    ({R + "strategy": "Recreate", R + "steps": [{"members": 1}]}, "rollout.steps: contradicts strategy Recreate"),
    ({R + "steps": [{}]}, "spec.rollout.steps[0].members: is missing"),
    ({R + "steps": [{"members": 0}]}, "steps[0].members: 0 is not within 1 to 1000"),
    ({R + "steps": [{"members": 1001}]}, "steps[0].members: 1001 is not within 1 to 1000"),
    ({R + "steps": [{"members": "0%"}]}, '"0%" is neither a whole number nor a percentage from 1% to 100%; write'),
    ({R + "steps": [{"members": "101%"}]}, "is neither a whole number nor a percentage from 1% to 100%"),
    ({R + "steps": [{"members": "2"}]}, '"2" is neither a whole number nor a percentage'),
    ({R + "steps": [{"members": True}]}, "true is neither a whole number nor a percentage"),
    ({R + "steps": [{"members": 1}, {"members": "50%"}]}, "spec.rollout.steps: mixes numbers with percentages"),
    ({R + "steps": [{"members": 9}, {"members": 9}]}, "rollout.steps[1].members: does not have more members than the"),
    ({R + "steps": [{"members": "20%"}, {"members": "9%"}]}, "rollout.steps[1].members: does not have more members"),
    ({R + "steps": [{"members": 1, "pause": True}]}, "steps[0].pause: true is not a mapping"),
    ({R + "steps": [{"members": 1, "pause": {"duration": "0s"}}]}, "is not within 1s to 30d"),
    ({R + "steps": [{"members": 1, "pause": {"duration": "31d"}}]}, "is not within 1s to 30d"),
    ({R + "shadow": {"prefix": "shadow"}}, "spec.rollout.shadow.groupId: is missing"),
    (BESIDE | {R + "shadow": SHADOW | {"prefix": "/a"}}, 'shadow.prefix: "/a" begins with a slash'),
    (BESIDE | {R + "shadow": SHADOW | {"prefix": "a/"}}, "ends with a slash"),
    (BESIDE | {R + "shadow": SHADOW | {"prefix": "a//b"}}, "has two slashes in a row"),
    (BESIDE | {R + "shadow": SHADOW | {"prefix": "a/../b"}}, "has a folder named"),
    (BESIDE | {R + "shadow": SHADOW | {"prefix": "a/_logpersister"}}, "has the folder _logpersister"),
    ({"spec.autoRepair": {"restartAfter": "2d"}}, "is not within 1s to 1d"),
    ({"spec.autoRepair": {"nodeLostAfter": "59s"}}, "is not within 1m to 1d"),
    (BESIDE | {R + "shadow": SHADOW | {"groupId": "g" * 177}}, "is longer than 176 characters"),
    (BESIDE | {R + "shadow": SHADOW | {"prefix": "p" * 377}}, "is longer than 376 characters"),
    (
        BESIDE | {R + "shadow": SHADOW | {"groupId": "clicks-backup"}},
        'shadow.groupId: "clicks-backup" is the group of the resource itself, or could be; name',
    ),
    (BESIDE | {R + "shadow": SHADOW, K + "groupId": "clicks-shadow.0.1"}, "is the group of the resource itself"),
    (
        BESIDE | {R + "shadow": SHADOW | {"prefix": ""}},
        'shadow.prefix: "" is empty; name a folder that only shadows use',
    ),
    (
        BESIDE | {R + "shadow": SHADOW | {"prefix": "raw"}},
        'shadow.prefix: "raw" is, or is in, or has in it, spec.storage',
    ),
    (BESIDE | {R + "shadow": SHADOW | {"prefix": "raw/a"}}, "is, or is in, or has in it, spec.storage.prefix; name"),
    (BESIDE | {S + "prefix": "shadow/raw"}, "is, or is in, or has in it, spec.storage.prefix"),
    (
        {R + "shadow": SHADOW},
        'shadow.prefix: "shadow" could be the folder of a topic, because spec.storage.prefix is empty',
    ),
    ({R + "shadow": SHADOW | {"prefix": "a/b=c"}}, "could be the folder of a topic"),
    (BESIDE | {R + "shadow": SHADOW | {"duration": "25h"}}, 'shadow.duration: "25h" is not within 0s to 1d'),
    (BESIDE | {R + "shadow": SHADOW | {"members": 0}}, "shadow.members: 0 is not within 1 to 1000"),
    (BESIDE | {R + "strategy": "Recreate"}, "spec.rollout.shadow: contradicts strategy Recreate"),
    ({"spec.spark": {"conf": {"spark.x": 2}}}, 'spec.spark.conf["spark.x"]: 2 is not text; put it in quotes'),
    ({"spec.spark": {"conf": {"executor.memory": "1g"}}}, 'conf["executor.memory"]: is not a Spark setting'),
    ({"spec.spark": {"conf": {"spark.master": "yarn"}}}, 'conf["spark.master"]: is set by logpersister itself; remove'),
    ({"spec.spark": {"conf": {"spark.executor.instances": "2"}}}, "is set by logpersister itself; remove it: use spec"),
    (
        {"spec.spark": {"conf": {"spark.kubernetes.executor.container.image": "mine:1"}}},
        'conf["spark.kubernetes.executor.container.image"]: is set by logpersister itself; remove it: use spec.image',
    ),
    (
        {"spec.spark": {"conf": {"spark.network.crypto.enabled": "false"}}},
        'conf["spark.network.crypto.enabled"]: is of the settings that logpersister sets itself: encryption',
    ),
    (
        {"spec.spark": {"conf": {"spark.kubernetes.authenticate.executor.serviceAccountName": "other"}}},
        "is of the settings that logpersister sets itself: encryption, accounts and labels of executors; remove it",
    ),
    (
        {"spec.spark": {"conf": {"spark.kubernetes.executor.label.logpersister.dev/driver": "other"}}},
        "is of the settings that logpersister sets itself",
    ),
    ({"spec.spark": {"conf": {"spark.ssl.keyPassword": "hunter2"}}}, "looks like a secret, and a manifest is stored"),
    (keyed(keeps=False), 'spec.parser.quarantine.format: "output" cannot keep the keys and null values of refused'),
    (
        keyed(type="struct<a: int8>"),
        "cannot be what keys become by parser text: a text has no parts; write for example",
    ),
    (keyed(of="json"), 'spec.schema.key.type: "string" cannot be what keys become by parser json: it is no struct'),
    (
        keyed(of="avro", type="struct<a: json>", schema=REGISTERED),
        "cannot be what keys become by parser avro: such keys have no json",
    ),
    (keyed(format="epoch[s]"), 'spec.schema.key.format: "epoch[s]" is set, and the type has no timestamp'),
    (keyed(column="kafka_k"), 'spec.schema.key.column: "kafka_k" begins with kafka_'),
    (
        keyed(column="MAIL"),
        'spec.schema.key.column: "MAIL" is the name of a column of values, too; case does not count',
    ),
    (keyed(of="avro", type="struct<a: int8>"), "spec.schema.registry: is missing, and keys name schemas that it"),
    (
        keyed(of="avro", type="struct<a: int8>", schema=REGISTERED | {"fields": None}, parser="messagepack"),
        "spec.schema.fields: is missing, and for values of this parser the registry has no schemas",
    ),
    (
        hashing("mail") | {F + "parquet": {"bloomFilters": [{"field": "mail"}, {"field": "mail", "distinct": 9}]}},
        'spec.output.parquet.bloomFilters[1].field: "mail" has a Bloom filter before; remove one of them',
    ),
    (
        hidden_keys("id", hash={"fields": ["id", "mail"], "secretName": "people"}),
        "spec.output.kafkaColumns: stores keys as they are, but spec.schema hides fields of them; remove key",
    ),
    (hidden_keys("of", mask=[{"fields": ["of.mail"]}], of="json", type="struct<mail: string>"), "or of.mail from hash"),
    (hashing("email"), 'spec.schema.hash.fields[0]: "email" cannot be hidden: spec.schema has no such field'),
    (hashing("user"), 'spec.schema.hash.fields[0]: "user" cannot be hidden: it is not a string or a whole number'),
    (hiding(mask=[{"fields": ["user.n"]}]), 'mask[0].fields[0]: "user.n" cannot be hidden: it is not a string; make'),
    (
        hashing("tags", of=LISTS),
        "cannot be hidden: tags is list<string>, and what is in lists and maps is stored as it is; leave",
    ),
    (
        hashing("items.id", of=LISTS),
        '"items.id" cannot be hidden: items is list<struct<id: int64>>, and what is in lists and',
    ),
    (hashing("at", of=LISTS), 'fields[0]: "at" cannot be hidden: it is not a string or a whole number; make it one'),
    (hashing("mail", mask=[{"fields": ["mail"]}]), 'spec.schema.mask[0].fields[0]: "mail" cannot be hidden twice'),
    (hiding(drop=["user.phone"]), "only whole columns can be left out: write user, or hide the field by mask"),
    (
        hiding(drop=["a b"]),
        "is not a name for a column (letters of any script, digits, _, @, $ and -, no digit or - first); write",
    ),
    (hashing("a b"), 'spec.schema.hash.fields[0]: "a b" is not a field, or one in a struct'),
    (
        hiding(drop=["mail"]),
        'spec.schema.drop[0]: "mail" is a column of fields, and no condition of spec.keep is about it; remove it from',
    ),
    (
        dropping("f1", ["string", ["string", "long"]]) | {"spec.keep": [{"field": "f1", "in": ["a"]}]},
        'spec.keep[0].field: "f1" cannot be compared: spec.schema has no such field',
    ),
    (dropping("f1"), 'spec.schema.drop[0]: "f1" cannot be hidden: there is no such column'),
    (dropping("f0"), "spec.schema.drop: cannot be hidden: no column would be left"),
    (dropping("kafka_x", ["string"] * 2), 'spec.schema.drop[0]: "kafka_x" begins with kafka_'),
    (hashing("mail", output="text"), 'spec.output.format: "text" stores values unchanged, but spec.schema hides'),
    (hashing("mail", quarantine={}), "spec.parser.quarantine: would store refused values unchanged"),
    (hashing("mail", quarantine={"holdAbove": "1%"}), "holdAbove to 0%, which holds a range with"),
    (
        {"spec.parser": {"type": "json", "quarantine": {"keepValue": False}}},
        "spec.parser.quarantine.keepValue: false needs format parquet, which has a column for the reason",
    ),
    *framing_cases.REFUSED,
]


@pytest.mark.parametrize(("changes", "expected"), REFUSED, ids=lambda value: str(value)[:80])
def test_refused(changes: dict[str, Any], expected: str) -> None:
    found = problems(changes)
    assert len(found) == 1, found
    assert expected in found[0]
    assert ";" in found[0], "a problem says what to do"
    assert "hunter2" not in found[0]


def test_everything_wrong_is_told_at_once() -> None:
    changes = {"spec.members": 0, "spec.kafka.topics": [], "spec.upload.maxAge": "x", "spec.nonsense": 1}
    assert len(problems(changes)) == 4


def test_both_contradictions_of_a_part_are_told() -> None:
    found = problems({"spec.kafka.security": {"protocol": "SASL_SSL"}})
    assert [line.split(":")[0] for line in found] == ["spec.kafka.security.mechanism", "spec.kafka.security.secretName"]


@pytest.mark.parametrize("format_", ["rcfile", ["orc"]])
def test_a_compression_where_no_format_says_which_are_possible(format_: Any) -> None:
    found = problems({F + "format": format_, F + "compression": "lz4"})
    assert found[1].startswith('spec.output.compression: "lz4" is not allowed here; write one of: none, gzip, deflate')


@pytest.mark.parametrize("document", [None, [], "text", 1])
def test_not_a_mapping(document: Any) -> None:
    with pytest.raises(ManifestError, match="is not a mapping; begin with apiVersion"):
        parse(document)


def test_snake_case_is_not_yaml() -> None:
    assert problems({"spec.upload.max_age": "1m"}) == ["spec.upload.max_age: is an unknown field; did you mean maxAge?"]


def test_parsing_does_not_change_the_document() -> None:
    document = changed({"spec.kafka.groupId": None})
    before = repr(document)
    parse(document)
    assert repr(document) == before


def test_each_try_of_a_shadow_has_names_of_its_own() -> None:
    shadow = accepted(BESIDE).spec.rollout.shadow
    assert shadow is not None
    assert (shadow.members, shadow.duration, shadow.min_ranges) == (1, timedelta(minutes=10), 3)
    assert shadow.group_of("0123456789ab", 2) == "clicks-shadow.0123456789ab.2"
    assert shadow.prefix_of("0123456789ab", 2) == "shadow/0123456789ab.2"
    longest = accepted(BESIDE | {R + "shadow": {"groupId": "g" * 176, "prefix": "p" * 376}}).spec.rollout.shadow
    assert longest is not None
    names = longest.group_of("0123456789ab", 2**31 - 1), longest.prefix_of("0123456789ab", 2**31 - 1)
    assert accepted({K + "groupId": names[0], S + "prefix": names[1]}).group_id == names[0]


def test_defaults() -> None:
    spec = accepted({}).spec
    assert accepted({}).group_id == "clicks-backup"
    assert accepted({"spec.kafka.groupId": "other"}).group_id == "other"
    assert (spec.generation, spec.members, spec.spark.executors) == (1, 1, 0)
    assert (spec.shutdown_grace, spec.cycle_interval) == (timedelta(seconds=30), timedelta(seconds=5))
    assert (spec.upload.max_bytes, spec.upload.max_age) == (256 * 2**20, timedelta(minutes=15))
    assert (spec.output.format, spec.output.compression, spec.output.partition_by) == ("text", "gzip", ())
    assert spec.output.text is not None
    assert spec.output.text.delimiter == "\n"
    assert spec.output.sequencefile is None
    assert spec.storage.part_size == 16 * 2**20
    assert spec.kafka.session_timeout == timedelta(seconds=45)
    assert spec.kafka.isolation_level == "read_committed"


def test_defaults_that_follow_from_the_format() -> None:
    output = accepted({"spec.output.format": "sequencefile"}).spec.output
    assert output.compression == "deflate"
    assert output.text is None
    assert output.sequencefile is not None
    assert (output.sequencefile.key, output.sequencefile.compression_type) == ("longwritable", "block")


@pytest.mark.parametrize(
    ("endpoint", "path_style", "expected"),
    [(None, None, False), ("http://a", None, True), ("http://a", False, False), (None, True, True)],
)
def test_path_style(endpoint: str | None, path_style: bool | None, expected: bool) -> None:
    storage = accepted({"spec.storage.endpoint": endpoint, "spec.storage.pathStyle": path_style}).spec.storage
    assert storage.uses_path_style is expected


def test_start_time() -> None:
    assert accepted({}).spec.kafka.start_time is None
    kafka = accepted({"spec.kafka.startFrom": "2026-11-21T01:30:00+01:00"}).spec.kafka
    assert kafka.start_time == datetime(2026, 11, 21, 0, 30, tzinfo=UTC)


def test_addresses() -> None:
    kafka = accepted({"spec.kafka.bootstrapServers": "a:1, [::1]:2"}).spec.kafka
    assert [(address.host, address.port) for address in kafka.addresses] == [("a", 1), ("::1", 2)]
    assert [str(address) for address in kafka.addresses] == ["a:1", "[::1]:2"]


@pytest.mark.parametrize(
    ("pattern", "excluded", "topic", "expected"),
    [
        ("^web\\.", None, "web.a", True),
        ("^web\\.", None, "my-web.a", False),
        ("web", None, "my-web-logs", True),
        ("web$", None, "my-web-logs", False),
        ("^web$|^app$", None, "app", True),
        ("^web$|^app$", None, "apple", False),
        ("web", "test", "web.test.a", False),
        ("web", "^test", "web.test", True),
        (".", None, "__consumer_offsets", False),
        (".", None, "__anything", False),
        (".", None, "_mine", True),
        ("(?i:WEB)", None, "web", True),
    ],
)
def test_topics_by_pattern(pattern: str, excluded: str | None, topic: str, expected: bool) -> None:
    kafka = accepted(by_pattern(topicPattern=pattern, excludeTopicPattern=excluded)).spec.kafka
    assert kafka.selects(topic) is expected


def test_topics_by_name() -> None:
    kafka = accepted({}).spec.kafka
    assert kafka.selects("clicks")
    assert not kafka.selects("clicks2")
    with pytest.raises(ValueError, match="not by a pattern"):
        _ = kafka.subscription_pattern


def test_limits_of_the_first_matching_override_apply() -> None:
    changes = {
        K + "topics": None,
        K + "topicPattern": "audit|clicks",
        "spec.upload": {"maxBytes": "1Mi", "maxAge": "10m"},
        "spec.overrides": [
            {"topicPattern": "^audit", "upload": {"maxAge": "1m"}},
            {"topicPattern": "audit", "upload": {"maxBytes": "2Mi", "maxAge": "2m"}},
        ],
    }
    spec = accepted(changes).spec
    limits = {topic: spec.limits_of(topic) for topic in ("audit.a", "my-audit", "clicks")}
    assert {topic: (limit.max_bytes >> 20, limit.max_age.seconds) for topic, limit in limits.items()} == {
        "audit.a": (1, 60),
        "my-audit": (2, 120),
        "clicks": (1, 600),
    }


def test_the_resource_is_frozen() -> None:
    resource = accepted({})
    with pytest.raises(ValueError, match="frozen"):
        resource.spec.members = 2  # type: ignore[misc]
