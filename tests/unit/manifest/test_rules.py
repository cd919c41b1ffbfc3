"""Every rule of the manifest: what it accepts, what it refuses, and in which words."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from logpersister.cli.check.spec import unused_findings
from logpersister.formats.registry import make_format
from logpersister.forms.problems import Finding
from logpersister.forms.rule import Rule, rules_of
from logpersister.manifest import ManifestError, parse
from logpersister.records.paths import make_layout
from logpersister.values.key import KINDS as KEY_KINDS
from tests.unit.manifest import framing_cases
from tests.unit.manifest.conditions import ACCEPTED_CONDITIONS, REFUSED_CONDITIONS
from tests.unit.manifest.documents import REMOVE, accepted, at, problems, refused
from tests.unit.manifest.test_event_types import CONTRADICTIONS
from tests.unit.manifest.test_rule import MODELS

K, S, F, U = "spec.kafka.", "spec.storage.", "spec.output.", "spec.upload."
V, Q, J = "spec.value", "spec.quarantine", "spec.value.json."
OF = "spec.overrides"
R, A = "spec.rollout.", "spec.rollout.canary.analysis."
SHADOW = {"groupId": "clicks-shadow", "prefix": "shadow"}
BESIDE = {R + "shadow": SHADOW, S + "prefix": "raw"}
"""A shadow whose prefix lies beside that of the resource."""
SASL = {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "secretName": "clicks-kafka"}
PATTERN = {K + "topics": REMOVE, K + "topicPattern": "^web"}


def by_pattern(**fields: Any) -> dict[str, Any]:
    return PATTERN | {K + name: value for name, value in fields.items()}


def column(name: str, type_: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **more}


def folders(*levels: dict[str, Any]) -> dict[str, Any]:
    return {F + "partitionBy": list(levels)}


def written(file_format: str, **settings: Any) -> dict[str, Any]:
    """Return a change to an output in a format, without folders."""
    return {"spec.output": {file_format: settings}}


ONE = column("id", "int8")
DAY = {"date": {"granularity": "day"}}
MAIL = (column("mail", "string"), column("user", "struct<phone: string, n: int8>"))
USER = (ONE, column("user", "struct<phone: string>"))
LISTS = (
    *(column("tags", "list<string>"), column("items", "list<struct<id: int64>>")),
    *(column("at", "timestamp[s]"), ONE),
)
UNSTORED = {Q: {"keepValue": False}}


def values(kind: str, *fields: dict[str, Any], beside: dict[str, Any] | None = None, **block: Any) -> dict[str, Any]:
    """Return a change to values of a kind, with fields."""
    declared = {"fields": list(fields)} if fields else {}
    return {V: {kind: {**declared, **block}, **(beside or {})}}


def rows(*fields: dict[str, Any], **block: Any) -> dict[str, Any]:
    return values("json", *fields, **block)


def hiding(
    *, quarantine: dict[str, Any] | None = None, output: str = "parquet", of: Any = MAIL, **beside: Any
) -> dict[str, Any]:
    decided = UNSTORED if quarantine is None else {Q: quarantine}
    return values("json", *of, beside=beside) | decided | written(output)


def keyed(kind: str = "text", column: str = "key", **block: Any) -> dict[str, Any]:
    """Return a change to a topic with a column of keys."""
    return rows(*MAIL[:1]) | {"spec.key": {kind: block, "column": column}}


def hidden_keys(kind: str = "text", column: str = "key", *fields: dict[str, Any], **hides: Any) -> dict[str, Any]:
    """Return a change to a topic whose keys are stored as they are, too, and fields are hidden."""
    of_keys = {kind: {"fields": list(fields)} if fields else {}, "column": column}
    return hiding(of=MAIL[:1], **hides) | {"spec.key": of_keys} | in_parquet(kafkaColumns=["key"])


def of_keys(kind: str, *fields: dict[str, Any], **block: Any) -> dict[str, Any]:
    declared = {"fields": list(fields)} if fields else {}
    return {"spec.key": {kind: {**declared, **block}}}


REGISTRY = {"url": "http://registry:8081"}
MESSAGE = "message M { int64 id = 1; }"


def hashing(*fields: str, **more: Any) -> dict[str, Any]:
    return hiding(hash={"fields": list(fields), "secretName": "people"}, **more)


def dropping(name: str, of: Sequence[Any] = ("string",), **beside: Any) -> dict[str, Any]:
    return by_avro(*of, beside={"drop": [name], **beside}) | written("parquet") | UNSTORED


def in_parquet(**settings: Any) -> dict[str, Any]:
    return written("parquet", **settings)


def numbered(*fields: str, first: int = 1) -> list[dict[str, Any]]:
    return [{"field": name, "id": number} for number, name in enumerate(fields, first)]


def dated(field: str, granularity: str = "day", **date: Any) -> dict[str, Any]:
    """Return folders by the time of a field."""
    return {F + "partitionBy": [{"date": {"granularity": granularity, "field": field, **date}}]}


def adjusting(*fields: dict[str, Any], of: str = "json", **block: Any) -> dict[str, Any]:
    """Return a change to a topic of rows in Parquet whose parser does more than refuse."""
    return values(of, *(fields or USER), **block) | written("parquet")


def renaming(*pairs: str, **beside: Any) -> dict[str, Any]:
    """Return a change to a topic in which fields have other names, written as ``id=number``."""
    entries = [dict(zip(("field", "to"), pair.split("="), strict=True)) for pair in pairs]
    return adjusting(beside={"rename": entries, **beside}) | UNSTORED


def default(value: Any, type_: str = "int8", **more: Any) -> dict[str, Any]:
    return adjusting({"name": "id", "type": type_, "default": value, **more})


OF_OTHERS = (
    *(("int", "int32"), ("long", "int64"), ("bigint", "int64"), ("short", "int16"), ("boolean", "bool")),
    *(("double", "float64"), ("float", "float32"), ("varchar", "string"), ("text", "string"), ("str", "string")),
    *(("bytes", "binary[base64]"), ("datetime", "timestamp[ms]"), ("numeric", "decimal(20,0)"), ("Array", "list<...>")),
)
"""Types as other systems call them, and as they are called here."""


def avro(*fields: dict[str, Any], **block: Any) -> dict[str, Any]:
    return values("avro", *(fields or [ONE]), **{"registry": REGISTRY, **block})


def by_avro(*types: Any, beside: dict[str, Any] | None = None, **block: Any) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": type_} for number, type_ in enumerate(types)]
    text = json.dumps({"type": "record", "name": "Click", "fields": fields})
    return values("avro", beside=beside, **{"registry": REGISTRY, "schema": text, **block})


def by_registry(**registry: Any) -> dict[str, Any]:
    return values("avro", registry={**REGISTRY, **registry})


def plain(text: str = 'syntax = "proto3"; message M { int64 id = 1; }', **block: Any) -> dict[str, Any]:
    return values("protobuf", schema=text, **block)


def protobuf(**block: Any) -> dict[str, Any]:
    return values("protobuf", **{"registry": REGISTRY, **block})


def lines(kind: str, *fields: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return values(kind, *(fields or [ONE]), **settings)


def finishing(**fields: Any) -> dict[str, Any]:
    """Return changes with folders by day that are finished."""
    return {"spec.finish": fields, "spec.output.partitionBy": [{"date": {"granularity": "day"}}]}


def copied(*copies: dict[str, Any], **finish: Any) -> dict[str, Any]:
    """Return changes with archives of hours in copies of the store."""
    hours = {"archive": {}, "partitionBy": [{"date": {"granularity": "hour"}}]}
    storage = {"bucket": "logs", "prefix": "raw", "copies": list(copies)}
    return {"spec.output": hours, "spec.finish": {"policy": ["archive"]} | finish, "spec.storage": storage}


T = "spec.table"
TY = "spec.types"


def in_table(*fields: dict[str, Any], catalog: dict[str, Any] | None = None, **table: Any) -> dict[str, Any]:
    known = {"type": "rest", "uri": "https://catalog.example.com"} | (catalog or {})
    columns = fields or (ONE,)
    return rows(*columns) | written("parquet") | {T: {"format": "iceberg", "catalog": known, "name": "a.b"} | table}


METASTORE = {"type": "hive", "uri": "thrift://metastore:9083"}
HIVE: dict[str, Any] = {"format": "hive", "catalog": METASTORE, "name": "a.b"}


def in_hive(*fields: dict[str, Any], catalog: dict[str, Any] | None = None, **table: Any) -> dict[str, Any]:
    return in_table(*fields, catalog=METASTORE | (catalog or {}), format="hive", **table)


def thrift(idl: str = "struct S { 1: i32 id }", /, **block: Any) -> dict[str, Any]:
    return values("thrift", idl=idl, **block)


def in_types(*entries: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Return a change to a topic whose types are in a header."""
    return {TY: {"header": "h", "entries": list(entries) or [{"names": ["a"]}], **others}}


def tables_of(*entries: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Return a change to a topic whose types are stored as Parquet, in tables."""
    return in_table(name="lake.{topic}_{type}") | in_types(*entries, **others)


def named_by_time(name: str, field: str | None = None) -> dict[str, Any]:
    """Return an entry with folders by day, perhaps of a field."""
    level = {"granularity": "day"} | ({} if field is None else {"field": field})
    of_rows = {"json": {"fields": [column("at", "timestamp[ms]")]}}
    return {"names": [name], "value": of_rows, "output": {"parquet": {}, "partitionBy": [{"date": level}]}}


_RECORD = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}'
ALONE: dict[str, dict[str, Any]] = {
    "bytes": {},
    "json": {},
    "avro": {"schema": _RECORD},
    "protobuf": {"schema": MESSAGE},
    "thrift": {"idl": "struct S { 1: i32 id }"},
    "messagepack": {"fields": [ONE]},
    "csv": {"fields": [ONE]},
    "regex": {"fields": [ONE], "pattern": "(?P<id>.*)"},
}
"""The least that each kind of values needs."""
BOUNDS: list[tuple[str, list[Any], list[Any]]] = [
    ("metadata.name", ["a" * 39], [REMOVE, "Clicks", "-a", "1clicks", "a\n", "a" * 40]),
    ("spec.generation", [1, 2**31 - 1], [0, 2**31, "1", 1.5, True]),
    ("spec.shutdownGrace", ["0s", "1h"], ["61m"]),
    ("spec.cycleInterval", ["100ms", "5m"], ["99ms", "301s"]),
    (K + "bootstrapServers", ["broker-1:9092, broker-2.example.org:1,[::1]:65535,10.0.0.1:9092,under_score:9092"], []),
    (K + "bootstrapServers", ["a:1,b:2,a:1"], [REMOVE, "", ["a:1"], "broker", "a:1,,b:2", "a b:1", "a:port"]),
    (K + "bootstrapServers", [], ["::1:9092", "a:0", "a:65536", "user:hunter2@a:1", "SASL_SSL://a:1"]),
    (K + "groupId", ["other_Group.1"], ["a/b", ".", "", "g" * 201]),
    (K + "topics", [["a", "B.c_d-e", "x" * 249, "__mine"]], [[], ["x"] * 1001, "clicks", ["a", "b c"], [".."]]),
    (K + "topics", [], [["x" * 250], [None], ["a", "b", "a"], ["__consumer_offsets"]]),
    (K + "startFrom", ["latest", "2026-11-21T00:00:00Z", "2026-11-21t01:00:00.123456+01:00"], ["beginning"]),
    (K + "startFrom", [], ["2026-11-21", "2026-11-21T00:00:00", "2026-02-30T00:00:00Z", "1969-12-31T23:59:59Z"]),
    (K + "startFrom", ["2028-02-29T00:00:00Z", "1969-12-31T23:59:59-00:01"], ["2026-02-29T00:00:00Z"]),
    (K + "startFrom", [], ["2026-11-21T24:00:00Z", "2026-11-21T23:59:60Z", "2026-11-21T00:00:00+24:00"]),
    (K + "startFrom", [], ["1970-01-01T00:00:00+00:01", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00Z"]),
    (K + "sessionTimeout", ["6s", "30m"], ["5s", "31m"]),
    (S + "bucket", ["my.bucket-1", "abc", "b" * 63], [REMOVE, "ab", "b" * 64, "Logs", "logs-", "a..b", "192.168.1.1"]),
    (S + "bucket", ["1.2.3"], ["xn--bucket", "bucket-s3alias", "fast--use1-az4--x-s3"]),
    (S + "prefix", ["", "raw/My_events/(a)'!*=1.2"], ["/raw", "raw/", "a//b", "a/../b", ".", "a/_logpersister", "a b"]),
    (S + "prefix", ["a/b", "..."], ["ä", "p" * 401, "../a", "a/..", "a/_logpersister/b"]),
    (S + "endpoint", ["http://127.0.0.1:9000", "https://s3.example.org/", "http://[::1]:9000"], ["127.0.0.1:9000"]),
    (S + "endpoint", [], ["ftp://a", "http://a/bucket", "http://a?x=1", "http://a:99999", "http://a:0", "http://[::1"]),
    (S + "endpoint", [], ["https://user:hunter2@s3"]),
    (S + "secretName", ["s3.credentials-1"], ["S3"]),
    (S + "storageClass", ["STANDARD_IA"], ["COLD"]),
    (S + "partSize", ["5Mi", "5Gi", 6_000_000], ["5M", "6Gi"]),
    (U + "maxBytes", ["64Ki", "160000Mi"], ["12 parsecs", "256MB", 1.5, True, ["1Mi"], "63Ki", "6Ti", "1Ti"]),
    (
        U + "maxBytes",
        ["007Mi", "65536", 65536],
        ["0Ki", "007", "1e6", "1.5Gi", "65535", "16Mi\n", "9223372036854775807"],
    ),
    (
        U + "maxAge",
        ["1s", "30d", "1000ms", "1.5h", "720h"],
        ["999ms", "0.999s", "31d", "30d1ms", "1h1h", "1m1h", " 1s"],
    ),
    (U + "maxAge", [], ["", "15", "-1s", "\n", "\u2028", "9999d999999.999h9999999.999m999999999.999s999999999999ms"]),
    ("spec.image", ["localhost:5000/data/logpersister:1@sha256:" + "0a" * 32], ["logpersister 1"]),
    ("kind", [], ["Deployment", REMOVE]),
    ("spec", [], [REMOVE, []]),
    ("spec.kafka", [], [REMOVE]),
    (K + "excludeTopicPattern", [], ["test"]),
    ("spec.storage", [], [REMOVE]),
    ("spec.targetLag", [], ["0s", "366d"]),
    ("spec.autoRepair.restartAfter", [], ["999ms"]),
    ("spec.autoRepair.nodeLostAfter", [], ["59s"]),
    (A + "maxLagGrowth", [], [20, "2.5%", "1001%"]),
    (A + "maxQuarantineRatio", [], [0.01, "0.5%", "101%"]),
    (R + "progressDeadline", [], ["5m", "8d"]),
]
"""A field, what fits it, and what does not."""

ACCEPTED: list[dict[str, Any]] = [
    *({path: value} for path, fitting, _ in BOUNDS for value in fitting),
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
        {"names": ["B"], "output": {"avro": {}}},
    ),
    tables_of({"names": ["raw"], "value": {"bytes": {}}, "output": {"parquet": {}}}) | written("text"),
    in_table(catalog={"type": "sql", "uri": "postgresql+psycopg2://db:5432/catalog", "warehouse": "s3://a/b"}),
    in_table(
        catalog={"type": "glue", "uri": None, "region": "eu-west-1", "secretName": "glue", "warehouse": "s3://a/b"}
    ),
    in_hive(),
    in_hive(partitions="onFinish") | finishing(),
    in_hive(catalog={"uri": "thrift://a:9083,thrift://b:9083"}) | {S + "caSecretName": "ca"},
    in_hive(column("at", "time[ms]"), column("to", "timestamp[ns]")) | written("jsonl"),
    written("text", delimiter="\n") | {T: HIVE},
    {OF: [{"topicPattern": "^c", "upload": {"maxAge": "1m"}}, {"topicPattern": "s$", "output": {"jsonl": {}}}]},
    plain(),
    plain("CiIKB3QucHJvdG8iDwoBTRIKCgJpZBgBIAEoA2IGcHJvdG8z\n", message="M"),
    thrift(),
    thrift("struct S { 1: i32 id } struct T { 1: S s }", struct="T"),
    protobuf(fields=[ONE]),
    protobuf(schema="message M { required int64 id = 1; }"),
    lines("csv", delimiter="\u0001", quote="", escape="\\", nullText="\\N", columns=["a", "id"]),
    lines("regex", pattern="(?P<id>\\d+)|-", nullText=""),
    *({V: {kind: block}} for kind, block in ALONE.items()),
    *(rows(ONE) | {"spec.key": {kind: ALONE.get(kind, {})}} for kind in KEY_KINDS if kind != "json"),
    by_avro("long", ["null", "string"], {"type": "map", "values": "int"}),
    by_registry(),
    by_registry(version="latest", subject="a.{topic}_{topic}") | folders({"field": "unknown.yet"}),
    by_avro(schema=' \n{"type": "record", "name": "a.B", "fields": [{"name": "a", "type": "int", "default": 1}]}\n'),
    rows() | {Q: {"format": "parquet", "holdAbove": "0%"}},
    avro(column("id", "list<timestamp[ms]>", format="epoch[ms]"), registry={"url": "https://r.example.com/apis/v7/"}),
    {"metadata": {"name": "a", "uid": "5", "managedFields": [{}], "labels": {"a": "b"}, "namespace": "data"}},
    rows(column("a", "struct<id: int8>"), column("at", "timestamp[s]"))
    | {
        F + "partitionBy": [
            {"field": "a.id", "prefix": "i="},
            {"truncate": {"field": "a.id", "width": 5}},
            {"bucket": {"field": "a.id", "count": 5}},
            {"date": {"field": "at", "granularity": "day"}},
        ]
    },
    by_pattern(),
    by_pattern(topicPattern="^web\\.(a|b)$", excludeTopicPattern="test$"),
    {K + "security": {"protocol": "SSL", "secretName": "tls", "verifyHostname": False}},
    {K + "security": SASL},
    {K + "security": SASL | {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN"}},
    {S + "storageClass": "COLD-tier", S + "endpoint": "http://ceph:80"},
    {S + "encryption": {"type": "KMS", "keyId": "arn:aws:kms:eu-central-1:1:key/a-b"}},
    {S + "endpoint": "https://s3", S + "caSecretName": "ca"},
    written("sequencefile", compressionType="record", key="messagepack"),
    written("text", tombstones="empty", delimiter="\u001e", delimiterInValue="escape"),
    rows(column("a", "date")) | written("jsonl", kafkaColumns=["headers"]),
    written("avro", compression="snappy", kafkaColumns=["key"], tombstones="null"),
    rows(column("_a1", "struct<B_: map<string, list<struct<c: timestamp[s]>>>>")) | written("avro"),
    written("orc", compression="zlib", kafkaColumns=["key"], tombstones="null"),
    written("kafka") | {"spec.keep": []},
    rows(column("@a-1", "map<string, list<timestamp[ns]>>")) | written("orc"),
    written("parquet", kafkaColumns=["headers", "topic"], rowGroupBytes="1Gi"),
    in_parquet(sortBy=[{"field": "kafka_timestamp", "order": "descending"}], kafkaColumns=["timestamp"]),
    rows(column("a", "struct<b: decimal(5,2)>"), column("c", "bool"))
    | in_parquet(sortBy=[{"field": "a.b"}, {"field": "c"}]),
    in_parquet(fieldIds=numbered("value", first=2_147_483_446)),
    in_parquet(
        kafkaColumns=["headers"],
        fieldIds=numbered(
            "value", *(f"kafka_headers{one}" for one in ("", ".element", ".element.key", ".element.value"))
        ),
    ),
    rows(column("m", "map<string, list<int8>>"))
    | in_parquet(fieldIds=numbered("m", "m.key", "m.value", "m.value.element")),
    by_registry() | in_parquet(fieldIds=numbered("gone"), sortBy=[{"field": "later"}]),
    in_hive(column("id", "int64")) | in_parquet(fieldIds=numbered("id")),
    rows(column("a", "struct<b: list<int8>, c: date>"))
    | written("parquet", withoutDictionary=["a.b"], bloomFilters=[{"field": "a.c"}]),
    rows(column("id", "int64", required=True), column("@timestamp", "timestamp[ns]")),
    rows(column("at", " list < map<string,timestamp[ms] not null>> ", format="epoch[ns]")),
    rows(column("at", "timestamp[ms]", format="pattern['['dd/MMM/yyyy:HH:mm:ss.SSSSSSSSS Z']']")),
    rows(column("at", "timestamp[ms]", format="pattern[yyyy''MM''ddHHXXX]", default="2026'11'2105Z")),
    rows(column("id", "int32")) | dated("id", "minute", format="epoch[s]"),
    rows(column("a", "struct<b: string>")) | dated("a.b", "hour", format="rfc3339", timezone="Asia/Tokyo"),
    rows(column("at", "string")) | dated("at", "hour", format="pattern[yyyyMMddHH]") | {"spec.finish": {}},
    rows(column("a", "struct<a: struct<a: decimal(38,38), $b-c: json not null>, list: time[us]>")),
    rows({"name": "a", "type": "list<" * 15 + "binary[base64]" + ">" * 15}) | written("parquet"),
    rows({"name": "dt", "type": "date"}) | folders(DAY),
    rows(column("a", "int8"), unknownFields="refuse"),
    folders({"date": {"granularity": "minute", "timezone": "America/Argentina/Ushuaia", "prefix": ""}}),
    folders({"date": {"granularity": "day", "timezone": "Etc/GMT+5", "prefix": "local-day="}}),
    {U + "maxBytes": "5Ti", S + "partSize": "550Mi"},
    {OF: [{"topicPattern": "^a", "upload": {"maxAge": "1m"}}, {"topicPattern": ".", "upload": {"maxBytes": "1Mi"}}]},
    {"spec.spark": {"conf": {"spark.kubernetes.executor.secrets.my-ca": "/etc/ca"}}},
    {"spec.spark": {"conf": {"spark.kubernetes.executor.label.team": "web", "spark.authenticates": "1"}}},
    {"spec.spark": {"minExecutors": 0, "maxExecutors": 1000}},
    {"spec.spark": {"executorPodTemplate": {"spec": {"tolerations": [{"operator": "Exists"}]}}}},
    {"spec.autoscale": {"minMembers": 1000, "maxMembers": 1000, "targetLag": "15m1s"}, "spec.targetLag": "1s"},
    {"spec.autoscale": {"maxMembers": 2}, "spec.targetLag": "15m1s"},
    {OF: [{"topicPattern": "a", "upload": {"maxAge": "1d"}}], "spec.autoscale": {"maxMembers": 2, "targetLag": "1d1s"}},
    finishing(),
    written("archive", fileName="a.{feed}{time}{hash}{postfix}-" + "x" * 27),
    {"spec.output": {"archive": {"fileName": "{time}_{hash}"}, "partitionBy": [{"key": {}}]}},
    copied({"bucket": "far"}, {"bucket": "logs", "prefix": "rawer"}, {"bucket": "logs", "endpoint": "http://far"}),
    finishing(
        policy=["done", "manifest"], manifestName=".objects", allowedLateness="0s", idleAfter="30d", storeAtEnd=True
    ),
    finishing(policy=["webhook"], webhook={"url": "https://[::1]:8443/a~b/?x=%20,y"}, trigger="process-time"),
    finishing(policy=["kafka", "webhook"], webhook={"url": "http://h", "timeout": "1m"}, kafka={"topic": "told"}),
    in_types(named_by_time("a"), named_by_time("b", "at"), {"names": ["c"]})
    | {"spec.finish": {"trigger": "record-time"}},
    in_types(named_by_time("a", "at"), named_by_time("b", "at")) | {"spec.finish": {}},
    finishing(late="quarantine"),
    finishing(late="quarantine") | keyed(),
    hashing("mail", quarantine={"keepValue": True}) | finishing(late="quarantine"),
    {"spec.rollout": {"strategy": "Recreate", "onFailure": "Pause", "attempt": 2**31 - 1, "steps": []}},
    {"spec.rollout": {"canary": {"analysis": {"duration": "0s", "minRanges": 0, "maxLagGrowth": "0%"}}}},
    {"spec.rollout": {"canary": {"analysis": {"duration": "1d"}}, "progressDeadline": "1d1s"}},
    {"spec.rollout": {"steps": [{"members": "1%"}, {"members": "50%", "pause": {}}, {"members": "100%"}]}},
    {"spec.rollout": {"steps": [{"members": 9, "pause": {"duration": "1s"}}, {"members": 10}]}},
    BESIDE,
    BESIDE | {R + "shadow": SHADOW | {"members": 1000, "duration": "1d", "minRanges": 0}},
    BESIDE | {R + "shadow": {"groupId": "g" * 176, "prefix": "p" * 376}},
    BESIDE | {R + "shadow": SHADOW | {"prefix": "a/raw"}, S + "prefix": "a/raws"},
    BESIDE | {R + "shadow": SHADOW | {"groupId": "clicks"}},
    {R + "shadow": SHADOW | {"prefix": "kind=shadow/1"}},
    {"spec.serviceAccount": {"name": "logs.writer-1", "annotations": {}}},
    {"spec.podTemplate": {"spec": {"containers": [{"name": "sidecar", "image": "x"}, {"name": "member"}]}}},
    {"spec.podTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"anything": [{"goes": 1.5}, None]}}},
    {"metadata": {"name": "a", "creationTimestamp": None}, "spec.podTemplate": {"spec": None, "metadata": None}},
    {K + "groupId": None, "spec.output": None, S + "pathStyle": None, "spec.spark": {"conf": {"spark.a": None}}},
    hashing("mail", "user.phone"),
    hashing("mail", output="jsonl", quarantine={"holdAbove": "0%"}),
    dropping("f1", ["string", ["null", "string", "long"]]),
    dropping("b", ["string", ["null", "string", "long"]], rename=[{"field": "f1", "to": "b"}]),
    hashing("user.n", "mail") | folders({"lower": "user.n"}),
    hiding(mask=[{"fields": ["user.phone"], "keepLast": 4}, {"fields": ["mail"]}]),
    adjusting(unknownFields="keep"),
    adjusting(ONE, of="messagepack", unknownFields="keep", restColumn="others"),
    adjusting(ONE, of="csv", unknownFields="keep", columns=["id", "note", "2nd"], faults={"overflow": "setNull"}),
    adjusting(ONE, of="regex", pattern="(?P<id>.*)", faults={"badText": "setNull", "invalidUtf8": "replace"}),
    adjusting(faults={"wrongType": "convert", "duplicates": "last"}),
    adjusting(faults={"wrongType": "setNull"}) | written("text"),
    renaming("user.phone=phone_number", "user=person", "id=user", mask=[{"fields": ["person.phone_number"]}]),
    renaming("id=number") | folders({"field": "number", "prefix": "n="}),
    by_avro(
        "long", "string", beside={"rename": [{"field": "f0", "to": "f1"}, {"field": "f1", "to": "f0"}], "drop": ["f1"]}
    )
    | written("parquet")
    | UNSTORED,
    values("avro", registry=REGISTRY, beside={"rename": [{"field": "not.yet.known", "to": "known"}]}),
    default(-128),
    default("", "string", required=True),
    default("23:59:59.5", "time[us]"),
    default("2026-11-26T05:00:00+01:00", "timestamp[ns]"),
    default(0, "timestamp[s]", format="epoch[ms]"),
    default("-1.50", "decimal(3,2)"),
    default("/w==", "binary[base64]"),
    keyed(type="timestamp[ms]", format="epoch[s]", column="at"),
    lines("csv") | {"spec.key": {"text": {"type": "json"}}} | written("text"),
    hidden_keys("text", "id", hash={"fields": ["mail"], "secretName": "people"}),
    hiding(of=MAIL[:1], mask=[{"fields": ["key.mail"]}], output="avro")
    | of_keys("json", *MAIL[:1], column("a", "json")),
    by_registry() | of_keys("avro", ONE, registry=REGISTRY | {"framing": "apicurio"}),
    plain() | of_keys("avro", ONE, registry=REGISTRY),
    plain('syntax = "proto3"; message M { int64 id = 1; } // done.'),
    *framing_cases.ACCEPTED,
]


@pytest.mark.parametrize("changes", ACCEPTED, ids=str)
def test_accepted_and_its_output_is_a_format_and_a_layout(changes: dict[str, Any]) -> None:
    output = accepted(changes).spec.output
    assert make_format(output).extension.startswith(".")
    make_layout(output.partition_by)


def found_by(**way: Any) -> dict[str, Any]:
    """Return a change to a topic whose types are found in another way."""
    return {TY: {**way, "entries": [{"names": ["1"], "value": {"bytes": {}}}]}}


FRAME = {"type": {"at": 0}, "body": {"lengthAt": 8}}
FRAME_HEADER = {"lengthAt": 4, "schema": {"protobuf": "message H { optional int32 a = 1; }"}}


UNUSED: list[tuple[dict[str, Any], str]] = [
    *(
        (values("avro", ONE, registry=REGISTRY | {name: value}), f"spec.value.avro.registry.{name}")
        for name, value in (("version", 3), ("subject", "a"))
    ),
    (protobuf(schema=MESSAGE, fields=[ONE]), "spec.value.protobuf.schema"),
    (adjusting(unknownFields="drop", restColumn="a"), J + "restColumn"),
    (rows(unknownFields="keep"), J + "unknownFields"),
    (rows(faults={"overflow": "setNull"}), J + "faults"),
    ({Q: {}}, Q),
    (of_keys("text"), "spec.key"),
    (written("sequencefile", compression="none", compressionType="record"), "spec.output.sequencefile.compressionType"),
    *framing_cases.UNUSED,
]
"""Fields without effect beside the others, which `check` names."""


@pytest.mark.parametrize(("changes", "unused"), UNUSED, ids=lambda value: str(value)[:80])
def test_what_is_merely_pointless_is_a_warning_of_check(changes: dict[str, Any], unused: str) -> None:
    (found,) = unused_findings(accepted(changes).spec)
    assert (found.verdict, found.message) == ("warning", f"without effect here: {unused}")


REFUSED: list[tuple[dict[str, Any], str]] = [
    *(({path: value}, path) for path, _, unfit in BOUNDS for value in unfit),
    ({"spec.memebrs": None}, "spec.memebrs"),
    ({"spec.spark": {"conf": {"spark.x y": ""}}}, 'spec.spark.conf["spark.x y"]'),
    *REFUSED_CONDITIONS,
    *at("spec.table.name", in_table() | in_types(), in_table(name="a.{type}"), in_table() | PATTERN),
    *at(
        "spec.output.kafka",
        {"spec.output": {"kafka": {}, "partitionBy": [DAY]}},
        written("kafka") | {"spec.value": {"json": {}}},
        written("kafka") | {"spec.keep": [{"header": "env", "in": ["prod"]}]},
        written("kafka") | in_types(),
    ),
    (in_types({"names": ["a"], "output": {"kafka": {}}}), "spec.types"),
    *at("spec.table.name", in_table() | {K + "topics": ["a", "b"]}, in_table(name="clicks"), in_table(name="a.{name}")),
    (in_hive(name="a.b.c"), "spec.table.name"),
    (tables_of({"names": ["a"], "output": {"jsonl": {}}}), "spec.types"),
    (tables_of({"names": ["a"], "table": False}), "spec.types"),
    (tables_of(*({"names": [f"{of}-{one}" for one in range(100)]} for of in range(6))), "spec.types"),
    *at("spec.types", in_types(key=True), found_by(any={}), protobuf() | found_by(any={"column": "whole"})),
    (tables_of({"names": ["a"]}, {"pattern": "b"}), "spec.types.entries[1]"),
    (tables_of({"names": ["a.b"]}, {"names": ["A-b"]}), "spec.types.entries[1]"),
    (tables_of({"names": ["a"]}, others={"action": "store"}), "spec.types.others"),
    (
        tables_of({"names": ["a"], "value": {"json": {"fields": [column("t", "time[ms]")]}}}),
        "spec.types.entries[0].value",
    ),
    (
        tables_of({"names": ["a"], "output": {"parquet": {}, "partitionBy": [{"field": "id", "prefix": "id/"}]}}),
        "spec.types.entries[0].output.partitionBy[0].prefix",
    ),
    (tables_of({"names": ["a"]}) | {OF: [{"topics": ["clicks"], "value": {"bytes": {}}}]}, "spec.overrides[0]"),
    *at("spec.overrides[0]", {OF: [{"topics": ["clicks"]}]}, {OF: [{"output": {}}]}),
    ({OF: [{"topics": ["clicks"], "topicPattern": "a", "output": {}}]}, "spec.overrides[0]"),
    (
        {
            OF: [{"topics": ["clicks"], "upload": {"maxAge": "2d"}}],
            "spec.autoscale": {"maxMembers": 2, "targetLag": "1d"},
        },
        "spec.overrides[0]",
    ),
    (
        {
            OF: [{"topicPattern": "b", "upload": {"maxAge": "1d"}}],
            "spec.autoscale": {"maxMembers": 2, "targetLag": "16m"},
        },
        "spec.overrides[0]",
    ),
    (in_types() | {"spec.finish": {}}, "spec.finish"),
    (in_types(named_by_time("a"), named_by_time("b", "at")) | {"spec.finish": {}}, "spec.finish.trigger"),
    (finishing(trigger="event-time"), "spec.finish.trigger"),
    ({TY: {"schemaName": "record", "entries": [{"names": ["a"]}]}}, "spec.types.schemaName"),
    (in_types({"names": ["a"], "folder": "f", "action": "drop"}), "spec.types.entries[0].action"),
    *at("spec.kafka", {K + "topics": REMOVE}, {K + "topicPattern": "^web"}),
    (in_types({"action": "drop"}), "spec.types.entries[0]"),
    *at("spec.types.entries[0].pattern", in_types({"pattern": "(?i)a"}), in_types({"pattern": "(a)\\1"})),
    (in_types(*({"pattern": f"^{number}[^x]{{4000}}"} for number in range(3))), "spec.types.entries"),
    (plain() | found_by(any={"field": "m", "column": "kafka_x"}), "spec.types.any.column"),
    (plain() | found_by(oneof={"name": "m", "parse": "field", "column": "KAFKA_x"}), "spec.types.oneof.column"),
    (found_by(frame={**FRAME, "header": {**FRAME_HEADER, "column": "kafka_h"}}), "spec.types.frame.header.column"),
    *(
        (found_by(frame={**FRAME, number: {"at": 0, "column": "Kafka_n"}}), f"spec.types.frame.{number}.column")
        for number in ("type", "timestamp")
    ),
    *at("spec.table", in_table() | written("jsonl"), in_table() | written("orc")),
    (written("jsonl") | {T: HIVE}, "spec.table"),
    (written("archive") | {T: HIVE}, "spec.table"),
    (in_table() | {OF: [{"topicPattern": "^o", "table": {"name": "a.b"}}]}, "spec.overrides[0].table.name"),
    ({OF: [{"topicPattern": "^o", "table": {"name": "a.{topic}"}}]}, "spec.overrides[0].table"),
    ({OF: {}}, "spec.overrides"),
    *at("spec.table.format", in_table(format="delta"), in_hive() | in_types()),
    *at("spec.table.catalog.type", in_table(format="hive"), in_table(catalog={"type": "nessie"})),
    *at("spec.table.partitions", in_table(partitions="onFinish") | finishing(), in_hive(partitions="onFinish")),
    *at("spec.table.catalog.uri", in_table(catalog={"uri": None}), in_hive(catalog={"uri": None})),
    *at("spec.table.catalog.uri", in_table(catalog={"type": "sql"}), in_table(catalog={"uri": "sqlite:///a"})),
    (in_table(catalog={"uri": "ftp://a"}), "spec.table.catalog.uri"),
    (in_table(catalog={"uri": "https://me:secret@a"}), "spec.table.catalog.uri"),
    (in_hive(catalog={"region": "eu-west-1"}), "spec.table.catalog.region"),
    (in_hive(catalog={"secretName": "a"}), "spec.table.catalog.secretName"),
    (written("text", delimiter="\u001e") | {T: HIVE}, "spec.output.text.delimiter"),
    *at("spec.output.text.delimiter", written("text", delimiter=""), written("text", delimiter="ä" * 9)),
    (written("text", delimiter="x", delimiterInValue="escape"), "spec.output.text.delimiter"),
    *at(V, in_hive(column("a", "time[ms]")), in_hive(column("a", "list<timestamp[ns]>"))),
    *at(V, in_hive(column("a", "json")) | written("jsonl"), in_hive(column("@at", "string"))),
    *at(V, in_table(column("a", "struct<b: list<timestamp[ns]>>")), in_table(column("a", "map<string, time[ms]>"))),
    (rows(column("Dt", "int8")) | written("parquet") | folders(DAY), V),
    (renaming("id=dt") | folders({"offset": {"every": 5}}, DAY), V),
    (adjusting(unknownFields="keep", restColumn="dt") | folders(DAY), V),
    (rows(ONE) | written("parquet") | folders({"field": "id"}), V),
    *at(V, {V: {}}, {V: {"json": {}, "avro": {}}}, {V: {"rename": []}}),
    *at("spec.key", {"spec.key": {}}, {"spec.key": {"text": {}, "json": {"fields": [ONE]}}}),
    *((rows(ONE) | {"spec.key": {kind: {}}}, f"spec.key.{kind}") for kind in ("csv", "regex", "bytes")),
    ({"spec.output": {"text": {}, "parquet": {}}}, "spec.output"),
    *(({V: {kind: {}}}, f"spec.value.{kind}.fields") for kind in ("csv", "messagepack")),
    ({V: {"avro": {}}}, "spec.value.avro.schema"),
    (rows(framing="apicurio"), J + "fields"),
    *at("spec.table.commitInterval", in_table(commitInterval="1s"), in_table(commitInterval="2d")),
    (in_table(properties={"logpersister.last": "x"}), "spec.table.properties"),
    (in_table(properties={"format-version": "3"}), "spec.table.properties"),
    (in_table() | {S + "caSecretName": "ca"}, "spec.storage.caSecretName"),
    ({S + "caSecretName": "a", S + "endpoint": "http://a"}, "spec.storage.caSecretName"),
    ({S + "caSecretName": "a", S + "verifyTls": False}, "spec.storage.caSecretName"),
    (in_table() | folders({"date": {"granularity": "day", "prefix": ""}}), "spec.output.partitionBy[0]"),
    (
        in_table()
        | in_parquet(kafkaColumns=["topic"])
        | {F + "partitionBy": [{"date": {"granularity": "day", "prefix": "kafka_topic="}}]},
        "spec.output.partitionBy[0]",
    ),
    *at("spec.output.partitionBy[0]", folders({}), folders({"date": {"granularity": "day"}, "offset": {"every": 1}})),
    (
        in_table()
        | {F + "partitionBy": [{"offset": {"every": 9}}, {"date": {"granularity": "day", "prefix": "Offset="}}]},
        "spec.output.partitionBy[1]",
    ),
    (
        rows(column("a", "struct<id: int8>"), ONE) | {F + "partitionBy": [{"field": "a.id"}, {"field": "id"}]},
        "spec.output.partitionBy[1]",
    ),
    ({F + "partitionBy": [DAY] * 2}, "spec.output.partitionBy[1]"),
    *at("spec.kafka.topicPattern", by_pattern(topicPattern="web("), by_pattern(topicPattern="")),
    *at("spec.kafka.topicPattern", by_pattern(topicPattern=r"(a)\1"), by_pattern(topicPattern="(?i)web")),
    (by_pattern(topicPattern="(?P<a>x)", excludeTopicPattern="(?P<a>y)"), "spec.kafka.topicPattern"),
    (by_pattern(excludeTopicPattern=r"(a)\1"), "spec.kafka.excludeTopicPattern"),
    ({K + "security": {"protocol": "SASL_SSL", "secretName": "a"}}, "spec.kafka.security.mechanism"),
    ({K + "security": {"mechanism": "PLAIN"}}, "spec.kafka.security.mechanism"),
    ({K + "security": {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN"}}, "spec.kafka.security.secretName"),
    ({K + "security": {"secretName": "a"}}, "spec.kafka.security.secretName"),
    ({K + "security": {"verifyHostname": False}}, "spec.kafka.security.verifyHostname"),
    ({K + "security": {"caSecretName": "ca"}}, "spec.kafka.security.caSecretName"),
    *at("spec.storage.encryption.type", {S + "encryption": {}}, {S + "encryption": {"type": "AES"}}),
    ({S + "encryption": {"type": "S3", "keyId": "k"}}, "spec.storage.encryption.keyId"),
    ({S + "verifyTls": False, S + "endpoint": "http://a"}, "spec.storage.verifyTls"),
    (in_parquet(sortBy=[{"field": "kafka_key"}]), "spec.output.parquet.sortBy[0].field"),
    (
        rows(column("a", "struct<b: map<string, int8>>")) | in_parquet(sortBy=[{"field": "a.b"}]),
        "spec.output.parquet.sortBy[0].field",
    ),
    (in_parquet(sortBy=[{"field": "value"}] * 2), "spec.output.parquet.sortBy[1].field"),
    (in_parquet(sortBy=[{"field": "value"}], rowGroupBytes="257Mi"), "spec.output.parquet.rowGroupBytes"),
    (in_parquet(fieldIds=numbered("value", "a")), "spec.output.parquet.fieldIds[1].field"),
    (in_parquet(fieldIds=numbered("value", "value")), "spec.output.parquet.fieldIds[1].field"),
    (
        in_parquet(fieldIds=[{"field": "value", "id": 7}, {"field": "kafka_key", "id": 7}], kafkaColumns=["key"]),
        "spec.output.parquet.fieldIds[1].id",
    ),
    (rows(column("a", "list<string>")) | in_parquet(fieldIds=numbered("a")), "spec.output.parquet.fieldIds"),
    (in_table(column("id", "int64")) | in_parquet(fieldIds=numbered("id")), "spec.output.parquet.fieldIds"),
    (in_parquet(bloomFilters=[{"field": "kafka_key"}]), "spec.output.parquet.bloomFilters[0].field"),
    (
        rows(column("a", "bool")) | written("parquet", bloomFilters=[{"field": "a"}]),
        "spec.output.parquet.bloomFilters[0].field",
    ),
    (
        rows(column("a", "int8")) | written("parquet", withoutDictionary=["value"]),
        "spec.output.parquet.withoutDictionary[0]",
    ),
    (rows(column("a", "list<map<string, struct<b: list<time[us]>>>>")) | written("orc"), "spec.output.orc"),
    (rows(column("a", "list<map<string, struct<b: struct<$c: int8>>>>")) | written("avro"), "spec.output.avro"),
    (hashing("mail", output="text"), "spec.output"),
    (written("parquet", kafkaColumns=["value"]), "spec.output.parquet.kafkaColumns[0]"),
    (written("parquet", kafkaColumns=["key", "key"]), "spec.output.parquet.kafkaColumns"),
    *at(
        "spec.output.parquet.kafkaColumns",
        hidden_keys("text", "id", hash={"fields": ["id", "mail"], "secretName": "people"}),
        hidden_keys("json", "of", MAIL[0], mask=[{"fields": ["of.mail"]}]),
    ),
    *at(J + "fields[0].type", rows(column("id", "time[ns]")), rows(column("id", "binary"))),
    *at(J + "fields[0].type", rows(column("id", "list<string")), rows(column("id", "list<string not nil>"))),
    *at(J + "fields[0].type", rows(column("id", "map<int32, string>")), rows(column("id", "struct<>"))),
    *at(J + "fields[0].type", rows(column("id", "struct<a: int8, A: int8>")), rows(column("id", "int8 int8"))),
    (rows({"name": "id", "type": "list<" * 17 + "int8" + ">" * 17}), J + "fields[0].type"),
    (thrift(fields=[column("id", "string")]), "spec.value.thrift.fields[0].type"),
    *at(J + "fields[0].name", rows(column("a b", "int8")), rows(column("a.b", "int8"))),
    *at(J + "fields[0].name", rows(column("Kafka_offset", "int8")), rows(column("a\u0001", "int8"))),
    (lines("csv", columns=["x"]), "spec.value.csv.fields[0].name"),
    (lines("regex", pattern="a"), "spec.value.regex.fields[0].name"),
    (lines("csv", column("id", "list<int8>")), "spec.value.csv.fields[0].type"),
    (values("messagepack", column("id", "json")), "spec.value.messagepack.fields[0].type"),
    (avro(column("id", "list<json>")), "spec.value.avro.fields[0].type"),
    (rows(column("s", "int8"), column("st", "list<struct<`a b`: int8>>")), J + "fields[1].type"),
    (rows(ONE, column("ID", "int8")), J + "fields[1].name"),
    (thrift(fields=[ONE, column("no", "int8")]), "spec.value.thrift.fields[1].name"),
    (rows(column("id", "int8", format="epoch[s]")), J + "fields[0].format"),
    (rows(column("id", "timestamp[s]", format="epoch")), J + "fields[0].format"),
    *(
        (rows(column("at", "timestamp[s]", format=f"pattern[{pattern}]")), J + "fields[0].format")
        for pattern in (
            *("yy-MM-dd", "yyyy-MM-ddTHH:mm:ss", "yyyyMMddhh", "", "yyyy", "yyyy-MM-dd MMM", "yyyy-MM-dd mm"),
            *("yyyyMMMMdd", "yyyyMMddHHmmss" + "S" * 10),
        )
    ),
    (rows(fields=[]), J + "fields"),
    (rows(*({"name": f"f{n}", "type": "int8"} for n in range(257))), J + "fields"),
    (
        rows(
            *({"name": f"f{n}", "type": "struct<" + ",".join(f"a{m}:int8" for m in range(5)) + ">"} for n in range(201))
        ),
        J + "fields",
    ),
    *at("spec.value.avro.registry.version", by_registry(version=0), by_registry(version="newest")),
    *at("spec.value.avro.registry.subject", by_registry(subject="{name}-value"), by_registry(subject="a b")),
    (by_avro("int", fields=[ONE]), "spec.value.avro.schema"),
    *at("spec.value.avro.schema", by_avro(schema='"string"'), by_avro(schema="{}"), by_avro(schema="{" * 5000)),
    *at("spec.value.avro.schema", by_avro(), by_avro(*({"type": "array", "items": "int"} for _ in range(1001)))),
    (rows(ONE) | of_keys("avro", ONE), "spec.key.avro.schema"),
    (values("protobuf", ONE), "spec.value.protobuf.schema"),
    (plain("message M {}}"), "spec.value.protobuf.schema"),
    (plain('import "common.proto"; message M { common.Id id = 1; }'), "spec.value.protobuf.schema"),
    *at("spec.value.protobuf.schema", plain("message M { optional M a = 1; }"), plain("("), plain("  ")),
    (plain(message="N"), "spec.value.protobuf.message"),
    *at("spec.value.protobuf.message", plain(message="N", fields=[ONE]), plain(message="1")),
    (adjusting(unknownFields="keep", restColumn="kafka_rest"), J + "restColumn"),
    (adjusting(unknownFields="keep") | {"spec.key": {"text": {}, "column": "_Rest"}}, J + "restColumn"),
    (adjusting(unknownFields="keep") | written("text"), "spec.output"),
    *(
        (values(kind, **block, unknownFields="refuse"), f"spec.value.{kind}.unknownFields")
        for kind, block in ALONE.items()
        if kind not in ("json", "messagepack")
    ),
    (adjusting(ONE, of="csv", unknownFields="keep", columns=["id", "7"]), "spec.value.csv.columns"),
    (lines("csv", columns=["id", "id"]), "spec.value.csv.columns"),
    (thrift(faults={"wrongType": "setNull"}), "spec.value.thrift.faults.wrongType"),
    (adjusting(faults={"overflow": "convert"}), J + "faults.overflow"),
    (adjusting(ONE, of="csv", faults={"wrongType": "convert"}), "spec.value.csv.faults.wrongType"),
    (adjusting(ONE, of="csv", faults={"duplicates": "last"}), "spec.value.csv.faults.duplicates"),
    *at("spec.value.rename[0].field", renaming("phone=a"), renaming("id.a=a"), renaming("user.phone=phone")),
    (renaming("id=User"), "spec.value.rename"),
    *at("spec.value.rename[0].to", renaming("id=a.b"), renaming("id=kafka_id")),
    (renaming("user.phone=tel", mask=[{"fields": ["user.phone"]}]), "spec.value.mask[0].fields[0]"),
    (hashing("mail", mask=[{"fields": ["mail"]}]), "spec.value.mask[0].fields[0]"),
    (renaming("id=number") | folders({"field": "id", "prefix": "n="}), "spec.output.partitionBy[0].field"),
    (rows({"name": "country", "type": "string"}) | folders({"field": "contry"}), "spec.output.partitionBy[0].field"),
    *at("spec.output.partitionBy[0].field", folders({"field": "a..b"}), folders({"field": "id"})),
    (rows({"name": "_país", "type": "string"}) | folders({"field": "_país"}), "spec.output.partitionBy[0].field"),
    *at(J + "fields[0].default", default("7"), default(128), default(True), default(1e39, "float32")),
    *at(J + "fields[0].default", default(0, "string"), default(1.5, "decimal(3,2)")),
    *at(J + "fields[0].default", default("24:00:00", "time[ms]"), default("now", "timestamp[ms]")),
    (default("0001-01-01T00:00:00+01:00", "timestamp[ms]"), J + "fields[0].default"),
    (default("2500-01-01T00:00:00Z", "timestamp[ns]"), J + "fields[0].default"),
    (default("0", "timestamp[s]", format="epoch[s]"), J + "fields[0].default"),
    *at(J + "fields[0].default", default("a", "list<string>"), default("x" * 1001, "string"), default([1])),
    (lines("csv", column("id", "int8", default=1)), "spec.value.csv.fields[0].default"),
    *at("spec.value.thrift.idl", thrift("struct S { 1: S s }"), thrift("struct S { }")),
    *at("spec.value.thrift.struct", thrift("struct S { 1: i32 a } struct T { }"), thrift(struct="T")),
    (thrift(struct="a.T"), "spec.value.thrift.struct"),
    *at("spec.value.csv.delimiter", lines("csv", delimiter="a"), lines("csv", delimiter="\n")),
    *at("spec.value.csv.quote", lines("csv", quote="\u00e4"), lines("csv", quote=","), lines("csv", escape='"')),
    (lines("csv", nullText="\n"), "spec.value.csv.nullText"),
    (lines("csv", columns=["id", "a\nb"]), "spec.value.csv.columns[1]"),
    *at("spec.value.regex.pattern", lines("regex", pattern="("), lines("regex", pattern="(?P<x>a)(?P<id>b)")),
    (lines("regex"), "spec.value.regex.pattern"),
    *at(
        "spec.value.avro.registry.url", by_registry(url="registry:8081"), by_registry(url="https://me:secret@registry")
    ),
    (
        rows({"name": "m", "type": "map<string, struct<a: int8>>"}) | folders({"lower": "m.x.a"}),
        "spec.output.partitionBy[0].lower",
    ),
    (rows(ONE) | dated("key.at"), "spec.output.partitionBy[0].date.field"),
    (rows(column("id", "string")) | dated("id"), "spec.output.partitionBy[0].date.field"),
    (rows(column("id", "int64")) | dated("id", format="iso8601"), "spec.output.partitionBy[0].date.format"),
    (rows(column("id", "float64")) | dated("id", format="epoch[s]"), "spec.output.partitionBy[0].date.field"),
    (
        hiding(of=[column("at", "string"), ONE], output="jsonl", mask=[{"fields": ["at"]}])
        | dated("at", format="iso8601"),
        "spec.output.partitionBy[0].date.field",
    ),
    (folders({"offset": {"every": 1}, "prefix": "o="}), "spec.output.partitionBy[0].prefix"),
    (rows(column("at", "timestamp[ms]")) | dated("at", format="epoch[s]"), "spec.output.partitionBy[0].date.format"),
    (folders({"date": {"granularity": "day", "format": "epoch[s]"}}), "spec.output.partitionBy[0].date.format"),
    (rows(column("on", "date")) | dated("on", granularity="hour"), "spec.output.partitionBy[0].date.granularity"),
    (rows(column("on", "date")) | dated("on", timezone="Europe/Berlin"), "spec.output.partitionBy[0].date.timezone"),
    (folders({"date": {"granularity": "day", "timezone": "Mars/Base"}}), "spec.output.partitionBy[0].date.timezone"),
    (folders({"date": {"granularity": "day", "timezone": "../UTC"}}), "spec.output.partitionBy[0].date.timezone"),
    (
        rows({"name": "x", "type": "float64"}) | folders({"bucket": {"field": "x", "count": 4}}),
        "spec.output.partitionBy[0].bucket.field",
    ),
    ({F + "partitionBy": [{"offset": {"every": n}} for n in range(1, 7)]}, "spec.output.partitionBy"),
    ({F + "partitionBy": [{"key": {"prefix": "_k="}}]}, "spec.output.partitionBy[0].key.prefix"),
    ({F + "partitionBy": [{"key": {}, "prefix": "k="}]}, "spec.output.partitionBy[0].prefix"),
    (folders({"date": {"granularity": "day", "prefix": "a/b="}}), "spec.output.partitionBy[0].date.prefix"),
    ({OF: [{"topics": ["cliks"], "output": {}}]}, "spec.overrides[0].topics[0]"),
    ({OF: [{"topicPattern": "^c", "output": {}}, {"topics": ["clicks"], "output": {}}]}, "spec.overrides[1].topics[0]"),
    ({OF: [{"topicPattern": r"(a)\1", "output": {}}]}, "spec.overrides[0].topicPattern"),
    ({OF: [{"topics": ["clicks"], "upload": {}}]}, "spec.overrides[0].upload"),
    ({OF: [{"topics": ["clicks"], "upload": {"maxBytes": "5Ti"}}]}, "spec.overrides[0].upload.maxBytes"),
    (
        {OF: [{"topics": ["clicks"], "output": {"partitionBy": [{"field": "a"}]}}]},
        "spec.overrides[0].output.partitionBy[0].field",
    ),
    ({"spec.spark": {"executors": 1, "maxExecutors": 2}}, "spec.spark.executors"),
    ({"spec.spark": {"minExecutors": 1}}, "spec.spark.minExecutors"),
    (
        {"spec.spark": {"conf": {"spark." + "x" * 248: ""}}},
        'spec.spark.conf["spark.' + "x" * 248 + '"]',
    ),
    ({"spec.serviceAccount": {"name": "Writer"}}, "spec.serviceAccount.name"),
    ({"spec.serviceAccount": {"annotations": {"a": "b\nc"}}}, "spec.serviceAccount.annotations.a"),
    ({"spec.serviceAccount": {"name": "writer", "annotations": {"a": "b"}}}, "spec.serviceAccount.annotations"),
    ({"spec.podTemplate": {"spec": {"containers": [{"name": "member", "image": "x"}]}}}, "spec.podTemplate"),
    (
        {"spec.spark": {"executorPodTemplate": {"spec": {"containers": [{"name": "executor", "image": "x"}]}}}},
        "spec.spark.executorPodTemplate",
    ),
    *at("spec.autoscale.maxMembers", {"spec.autoscale": {}}, {"spec.autoscale": {"maxMembers": 0}}),
    ({"spec.autoscale": {"minMembers": 3, "maxMembers": 2}}, "spec.autoscale.maxMembers"),
    ({"spec.autoscale": {"maxMembers": 2, "targetLag": "15m"}}, "spec.autoscale.targetLag"),
    ({"spec.autoscale": {"maxMembers": 2, "targetLag": "366d"}}, "spec.autoscale.targetLag"),
    ({"spec.autoscale": {"maxMembers": 2, "scaleUpStabilization": "2h"}}, "spec.autoscale.scaleUpStabilization"),
    ({"spec.autoscale": {"maxMembers": 2, "scaleDownStabilization": "2d"}}, "spec.autoscale.scaleDownStabilization"),
    ({"spec.autoscale": {"maxMembers": 2}, "spec.targetLag": "15m"}, "spec.targetLag"),
    (finishing(manifestName="_SUCCESS"), "spec.finish.manifestName"),
    (finishing(allowedLateness="31d"), "spec.finish.allowedLateness"),
    (finishing(policy=[]), "spec.finish.policy"),
    (finishing(policy=["archive"]), "spec.finish.policy"),
    *(
        (written("archive", fileName=name), "spec.output.archive.fileName")
        for name in (
            *("{feed}_{time}", "{feed}_{hash}", "{feed}{feed}{time}{hash}", "{feed}{time}{time}{hash}"),
            *(
                "{postfix}{feed}{time}{hash}",
                ".{feed}{time}{hash}",
                "{feed}/{time}{hash}",
                "{feed}{time}{hash}{offset}",
            ),
            *("{feed}{time}{hash}{postfix}{postfix}", "{feed}{time}{hash}" + "x" * 43, "{time}{hash}"),
        )
    ),
    ({S + "copies": [{"bucket": "far"}]}, "spec.storage.copies"),
    (copied({"bucket": "far"}, policy=["manifest"]), "spec.storage.copies"),
    (copied({"bucket": "far"}, policy=["archive", "successFile"], outerLevels=True), "spec.finish.outerLevels"),
    (copied(*[{"bucket": "far", "prefix": str(number)} for number in range(5)]), "spec.storage.copies"),
    (copied({"bucket": "far", "copies": []}), "spec.storage.copies[0].copies"),
    *(
        (copied({"bucket": "far"}, {"bucket": "logs", "prefix": prefix}), "spec.storage.copies[1].prefix")
        for prefix in ("raw", "raw/copy", "")
    ),
    (copied({"bucket": "far", "prefix": "a"}, {"bucket": "far"}), "spec.storage.copies[1].prefix"),
    (finishing(policy=["done"], outerLevels=True), "spec.finish.outerLevels"),
    *at("spec.finish.webhook", finishing(policy=["webhook"]), finishing(webhook={"url": "http://h"})),
    *at("spec.finish.kafka", finishing(policy=["kafka"]), finishing(kafka={"topic": "told"})),
    (finishing(policy=["kafka"], kafka={"topic": "__consumer_offsets"}), "spec.finish.kafka.topic"),
    (finishing(policy=["webhook"], webhook={"url": "http://h", "timeout": "61s"}), "spec.finish.webhook.timeout"),
    (finishing(policy=["webhook"], webhook={"url": "http://u:p@h"}), "spec.finish.webhook.url"),
    *at("spec.finish.late", finishing(late="drop"), hashing("mail") | finishing(late="quarantine")),
    (finishing(late="quarantine") | UNSTORED, "spec.finish.late"),
    (hashing("mail", quarantine={"holdAbove": "0%"}) | finishing(late="quarantine"), "spec.finish.late"),
    (finishing(successFileName="SUCCESS"), "spec.finish.successFileName"),
    ({A + "duration": "10m"}, "spec.rollout.progressDeadline"),
    ({A + "duration": "1d1ms", R + "progressDeadline": "2d"}, "spec.rollout.canary.analysis.duration"),
    ({R + "strategy": "Recreate", R + "canary": {}}, "spec.rollout.canary"),
    ({R + "strategy": "Recreate", R + "steps": [{"members": 1}]}, "spec.rollout.steps"),
    ({R + "steps": [{"members": 1}, {"members": "50%"}]}, "spec.rollout.steps"),
    *at("spec.rollout.steps[0].members", {R + "steps": [{}]}, {R + "steps": [{"members": 0}]}),
    *at("spec.rollout.steps[0].members", {R + "steps": [{"members": "101%"}]}, {R + "steps": [{"members": "2"}]}),
    ({R + "steps": [{"members": 9}, {"members": 9}]}, "spec.rollout.steps[1].members"),
    ({R + "steps": [{"members": "20%"}, {"members": "9%"}]}, "spec.rollout.steps[1].members"),
    (BESIDE | {R + "shadow": SHADOW | {"groupId": "g" * 177}}, "spec.rollout.shadow.groupId"),
    (BESIDE | {R + "shadow": SHADOW | {"groupId": "clicks-backup"}}, "spec.rollout.shadow.groupId"),
    (BESIDE | {R + "shadow": SHADOW, K + "groupId": "clicks-shadow.0.1"}, "spec.rollout.shadow.groupId"),
    *(
        (BESIDE | {R + "shadow": SHADOW | {"prefix": prefix}}, "spec.rollout.shadow.prefix")
        for prefix in ("/a", "a/_logpersister", "p" * 377, "", "raw", "raw/a")
    ),
    *at("spec.rollout.shadow.prefix", BESIDE | {S + "prefix": "shadow/raw"}, {R + "shadow": SHADOW}),
    ({R + "shadow": SHADOW | {"prefix": "a/b=c"}}, "spec.rollout.shadow.prefix"),
    (BESIDE | {R + "strategy": "Recreate"}, "spec.rollout.shadow"),
    ({"spec.spark": {"conf": {"spark.master": "yarn"}}}, 'spec.spark.conf["spark.master"]'),
    (
        {"spec.spark": {"conf": {"spark.network.crypto.enabled": "false"}}},
        'spec.spark.conf["spark.network.crypto.enabled"]',
    ),
    (
        {"spec.spark": {"conf": {"spark.kubernetes.executor.label.logpersister.dev/driver": "other"}}},
        'spec.spark.conf["spark.kubernetes.executor.label.logpersister.dev/driver"]',
    ),
    ({"spec.spark": {"conf": {"spark.ssl.keyPassword": "hunter2"}}}, 'spec.spark.conf["spark.ssl.keyPassword"]'),
    *at("spec.key.text.type", keyed(type="struct<a: int8>"), keyed(type="int46")),
    (of_keys("json"), "spec.key.json.fields"),
    (rows(ONE) | of_keys("avro", registry=REGISTRY), "spec.key.avro.fields"),
    (keyed(format="epoch[s]"), "spec.key.text.format"),
    *at("spec.key.column", keyed(column="kafka_k"), keyed(column="MAIL")),
    (
        hashing("mail") | written("parquet", bloomFilters=[{"field": "mail"}, {"field": "mail", "distinct": 9}]),
        "spec.output.parquet.bloomFilters[1].field",
    ),
    *at("spec.value.hash.fields[0]", hashing("email"), hashing("user"), hashing("tags", of=LISTS)),
    *at("spec.value.hash.fields[0]", hashing("items.id", of=LISTS), hashing("at", of=LISTS), hashing("a b")),
    *at("spec.value.drop[0]", hiding(drop=["user.phone"]), hiding(drop=["a b"]), hiding(drop=["mail"])),
    *at("spec.value.drop[0]", dropping("f1"), dropping("kafka_x", ["string"] * 2)),
    (
        dropping("f1", ["string", ["string", "long"]]) | {"spec.keep": [{"field": "f1", "in": ["a"]}]},
        "spec.keep[0].field",
    ),
    (dropping("f0"), "spec.value.drop"),
    *at(Q, hashing("mail", quarantine={}), hashing("mail", quarantine={"holdAbove": "1%"})),
    *framing_cases.REFUSED,
]
"""What is refused, and the field at fault: it, or an entry of its list."""

TOLD: list[tuple[dict[str, Any], str]] = [
    *(
        (rows({"name": "id", "type": theirs}), f"there is no type {theirs!r} (position 1); did you mean {ours}?")
        for theirs, ours in OF_OTHERS
    ),
    ({U + "maxBytes": "12 parsecs"}, 'spec.upload.maxBytes: "12 parsecs" is not a size; write for example 256Mi (Ku'),
    (
        {U + "maxBytes": "1Ti"},
        "10000 parts of storage.partSize 16Mi; lower it, or set spec.storage.partSize to 105Mi or",
    ),
    ({K + "topics": REMOVE}, "spec.kafka: needs exactly one of topics and topicPattern; write one of them"),
    ({K + "bootstrapServers": "user:hunter2@a:1"}, "has credentials in it; put them in the Secret"),
    ({"spec.spark": {"conf": {"spark.ssl.keyPassword": "hunter2"}}}, "looks like a secret, and a manifest is stored"),
    ({"spec.frobnicate": 1}, "spec.frobnicate: is an unknown field; known here: generation, kafka, storage, output"),
    ({"spec.generation": "1"}, 'spec.generation: "1" is not a whole number; write it in digits, without quotes'),
    ({"spec.memebrs": 1}, "spec.memebrs: is an unknown field; did you mean members?"),
    (
        rows(column("id", "int46")),
        "fields[0].type: \"int46\" is not a type: there is no type 'int46' (position 1); did you mean int64?",
    ),
    (rows(column("id", "xyz")), "there is no type 'xyz' (position 1); write one of: bool, int8"),
    (rows(column("id", "timestamp")), "has no [ (position 10); write it as in timestamp[ms]"),
    (
        by_avro(["string", "int"]),
        "its field 'f0': it is one of several types; correct it, or name the columns in fields",
    ),
    (thrift("struct Order { 1: i32 a }", struct="order"), "the schema has no such struct; did you mean Order?"),
    (
        thrift("struct S { 1: T t } struct T { 1: i32 id }", struct="S", fields=[column("t", "struct<ids: int8>")]),
        '[0].type: "struct<ids: int8>" cannot be the columns: t.ids: the struct T has no such field; did you mean id?',
    ),
    (plain("message M { int64 = 1; }"), "its line 1 has '=' where a name is expected; correct the schema"),
    (
        plain("".join(f"message M{n} {{ message I {{}} }}" for n in range(4)), message="X"),
        "the schema has no such message; write one of: M0, M0.I, M1, M1.I, M2 (and 3 more)",
    ),
    (plain("package shop; message Order { int64 id = 1; }", message="shop.order"), "did you mean shop.Order?"),
    (
        rows({"name": "_id", "type": "int64"}) | folders({"field": "_id"}),
        '"_id" cannot name folders, which begin with a letter or digit, have no @ or $, and at most',
    ),
    (
        rows(column("a", "struct<dt: int8>")) | {F + "partitionBy": [{"field": "a.dt"}, DAY]},
        "dt= is that of partitionBy[1], too; give one of them a prefix of its own",
    ),
    (folders({"ofset": {"every": 1}}), "partitionBy[0].ofset: is an unknown field; did you mean offset?"),
    (
        {"spec.spark": {"conf": {"spark.kubernetes.executor.container.image": "mine:1"}}},
        'conf["spark.kubernetes.executor.container.image"]: is set by logpersister itself; remove it: use spec.image',
    ),
]


@pytest.mark.parametrize(("changes", "fault"), REFUSED, ids=lambda value: str(value)[:80])
def test_refused(changes: dict[str, Any], fault: str) -> None:
    (problem,) = refused(changes)
    assert re.sub(r"\[\d+\]$", "", problem.path) == re.sub(r"\[\d+\]$", "", fault)
    assert problem.expectation
    assert problem.remedy
    assert "hunter2" not in str(problem)
    value = changes.get(problem.path) if len(changes) == 1 else None
    if isinstance(value, str | int | float) and "hunter2" not in str(value) and "secret" not in problem.path.lower():
        assert problem.found, "a problem names the value"


@pytest.mark.parametrize(("changes", "expected"), TOLD, ids=lambda value: str(value)[:80])
def test_told(changes: dict[str, Any], expected: str) -> None:
    (problem,) = refused(changes)
    assert expected in str(problem)


@pytest.mark.slow
def test_every_rule_refuses_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    judged, findings = set(), Rule.findings

    def noticed(self: Rule, *versions: Any) -> Iterator[Finding]:
        found = list(findings(self, *versions))
        if found:
            judged.add(self.judge)
        yield from found

    monkeypatch.setattr(Rule, "findings", noticed)
    for changes in [*(one for one, _ in [*REFUSED, *TOLD]), *(one for one, _, _ in CONTRADICTIONS)]:
        refused(changes)
    rules = {one.judge: model.__name__ for model in MODELS for one in rules_of(model) if not one.is_change}
    assert not [f"{of}: {judge.__qualname__}" for judge, of in rules.items() if judge not in judged]


def test_both_contradictions_of_a_part_are_told() -> None:
    found = problems({"spec.kafka.security": {"protocol": "SASL_SSL"}})
    assert [line.split(":")[0] for line in found] == ["spec.kafka.security.mechanism", "spec.kafka.security.secretName"]


@pytest.mark.parametrize("document", [None, [], "text", 1])
def test_not_a_mapping(document: Any) -> None:
    with pytest.raises(ManifestError, match="is not a mapping; begin with apiVersion"):
        parse(document)


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


@pytest.mark.parametrize(
    ("pattern", "excluded", "topic", "expected"),
    [
        ("^web\\.", None, "my-web.a", False),
        ("web", None, "my-web-logs", True),
        ("web", "test", "web.test.a", False),
        (".", None, "__consumer_offsets", False),
        (".", None, "__anything", False),
        (".", None, "_mine", True),
        ("(?i:WEB)", None, "web", True),
    ],
)
def test_topics_by_pattern(pattern: str, excluded: str | None, topic: str, expected: bool) -> None:
    kafka = accepted(by_pattern(topicPattern=pattern, excludeTopicPattern=excluded)).spec.kafka
    assert kafka.selects(topic) is expected


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
