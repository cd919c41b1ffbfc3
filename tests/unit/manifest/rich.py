"""Manifests that set every field, as far as fields go together."""

from typing import Any

_POD = {
    "metadata": {"labels": {"team": "data"}, "annotations": {"note": "x"}},
    "spec": {"nodeSelector": {"disk": "fast"}, "containers": [{"name": "member", "resources": {"limits": {"cpu": 2}}}]},
}

_NUMBERED = (
    *("at", "at.element", "id", "seen", "country", "user", "user.email", "user.phone", "others"),
    *("kafka_offset", "kafka_key"),
)

_STORAGE: dict[str, Any] = {
    "bucket": "logs",
    "prefix": "raw/a",
    "endpoint": "https://s3.example.org:9000",
    "region": "eu-west-1",
    "secretName": "s3",
    "pathStyle": False,
    "storageClass": "COLD",
    "encryption": {"type": "KMS", "keyId": "alias/a"},
    "partSize": "32Mi",
    "verifyTls": True,
    "caSecretName": "ca",
    "checksums": "when_required",
}

BY_NAME: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-name", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "spec": {
        "generation": 2,
        "kafka": {
            "bootstrapServers": "a:9092,[::1]:9092",
            "groupId": "group",
            "topics": ["clicks", "orders"],
            "startFrom": "2026-11-21T00:00:00Z",
            "isolationLevel": "read_uncommitted",
            "onDataLoss": "skip",
            "clientRack": "eu-west-1a",
            "sessionTimeout": "1m",
            "security": {
                "protocol": "SASL_SSL",
                "mechanism": "PLAIN",
                "secretName": "kafka",
                "caSecretName": "kafka-ca",
                "verifyHostname": False,
            },
        },
        "storage": _STORAGE,
        "output": {
            "text": {"compression": "zstd", "tombstones": "empty", "delimiter": "\u001e", "delimiterInValue": "escape"},
            "partitionBy": [
                {"date": {"granularity": "day", "timezone": "Europe/Berlin", "prefix": "day="}},
                {"offset": {"every": 1000}},
            ],
        },
        "value": {"json": {}},
        "upload": {"maxBytes": "512Mi", "maxAge": "1d"},
        "finish": {
            "outerLevels": True,
            "policy": ["manifest", "successFile", "done", "webhook", "kafka"],
            "webhook": {"url": "https://hooks.example.com/folders", "secretName": "hook", "timeout": "20s"},
            "kafka": {"topic": "folders"},
            "successFileName": "_DONE",
            "manifestName": ".objects.json",
            "trigger": "record-time",
            "allowedLateness": "10m",
            "idleAfter": "30m",
            "late": "folder",
            "storeAtEnd": True,
        },
        "members": 3,
        "autoscale": {
            "minMembers": 2,
            "maxMembers": 9,
            "targetLag": "2d",
            "scaleUpStabilization": "2m",
            "scaleDownStabilization": "1h",
        },
        "spark": {"executors": 2, "conf": {"spark.executor.memory": "2g"}, "executorPodTemplate": _POD},
        "shutdownGrace": "45s",
        "cycleInterval": "1.5s",
        "targetLag": "2d",
        "networkPolicy": "Restricted",
        "autoRepair": {"restartAfter": "30m", "maxRestartsPerHour": 1},
        "rollout": {
            "strategy": "Canary",
            "canary": {
                "members": 2,
                "analysis": {
                    "duration": "1m",
                    "minRanges": 1,
                    "maxUploadFailures": 2,
                    "maxLagGrowth": "50%",
                    "maxQuarantineRatio": "5%",
                },
            },
            "shadow": {"groupId": "clicks-shadow", "prefix": "shadow", "members": 2, "duration": "1h", "minRanges": 5},
            "steps": [{"members": "50%", "pause": {"duration": "1h"}}, {"members": "75%", "pause": {}}],
            "progressDeadline": "20m",
            "onFailure": "Pause",
            "attempt": 1,
        },
        "image": "registry.example/logpersister:1",
        "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/logs"}},
        "podTemplate": _POD,
    },
}


def rich(name: str, **sections: Any) -> dict[str, Any]:
    """Return a manifest with these parts of its spec."""
    spec = {"kafka": {"bootstrapServers": "a:9092", "topics": ["events"]}, "storage": {"bucket": "logs"}, **sections}
    document = {"apiVersion": "logpersister.dev/v1alpha1", "kind": "LogPersister", "metadata": {"name": name}}
    return {**document, "spec": spec}


BY_PATTERN = rich(
    "by-pattern",
    kafka={"bootstrapServers": "a:9092", "topicPattern": "^web[.]", "excludeTopicPattern": "test$"},
    output={
        "sequencefile": {
            "compression": "deflate",
            "tombstones": "skip",
            "key": "messagepack",
            "compressionType": "record",
        },
        "partitionBy": [{"date": {"granularity": "hour"}}, {"date": {"granularity": "minute"}}],
    },
    overrides=[{"topicPattern": "^web[.]raw", "output": {"text": {"compression": "none"}}}],
    spark={"minExecutors": 1, "maxExecutors": 10},
    serviceAccount={"name": "logs-writer"},
)
_REGISTRY = {"url": "http://registry:8081", "secretName": "login", "version": 2, "subject": "a"}
_FIELDS = [
    {"name": "id", "type": "int64", "required": True},
    {"name": "at", "type": "timestamp[ms]", "format": "epoch[ms]"},
]
_ID = {"json": {"fields": [{"name": "id", "type": "int64"}]}}
_BY_ID = [{"field": "id", "prefix": "of="}]
BY_TYPES = rich(
    "by-types",
    output={"parquet": {}},
    types={
        "header": "event-type",
        "prefix": "event=",
        "entries": [
            {
                "names": ["order", "refund"],
                "folder": "orders",
                "action": "store",
                "value": _ID,
                "key": {"text": {"type": "int64"}},
                "output": {"avro": {}, "partitionBy": _BY_ID},
            },
            {"pattern": "^noise[.]", "action": "drop"},
            {"pattern": ".", "folder": "others", "value": _ID, "output": {"jsonl": {}}},
        ],
        "others": {"action": "drop"},
    },
    quarantine={"holdAbove": "10%"},
)
BY_FRAMES = rich(
    "by-frames",
    types={
        "frame": {
            "type": {"at": 8, "bytes": 2, "column": "event_type"},
            "timestamp": {"at": 0, "bytes": 8, "column": "event_time"},
            "header": {
                "lengthAt": 10,
                "schema": {"protobuf": "message A { } message H { optional string host = 1; }", "message": "H"},
                "column": "head",
            },
            "body": {"lengthAt": 14},
        },
        "entries": [{"names": ["-1", "7"]}],
    },
)
_ENVELOPE = """syntax = "proto3"; import "google/protobuf/any.proto";
message Envelope { google.protobuf.Any event = 1; oneof payload { Order order = 2; Order refund = 3; } }
message Order { int64 id = 1; }"""
_PAYLOAD = {"name": "payload", "parse": "field"}
_ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
_KEPT = rich(
    "by-conditions",
    value={
        "json": {
            "fields": [
                {"name": "country", "type": "string"},
                {"name": "level", "type": "int16"},
                {"name": "id", "type": "int64"},
            ]
        },
        "drop": ["level"],
    },
    quarantine={"format": "parquet", "keepValue": False},
    output={"parquet": {}},
)
_BOUNDS: dict[str, Any] = {"atLeast": -3, "atMost": 300, "below": 300, "orAbsent": True}
_ORDERS = {"bootstrapServers": "a:9092", "topics": ["orders"]}
_IN_AVRO = {"avro": {"kafkaColumns": ["offset"], "tombstones": "null", "compression": "snappy"}, "partitionBy": _BY_ID}
_OF_TEXTS = {"overflow": "setNull", "badText": "setNull"}
_OF_LINES = {**_OF_TEXTS, "wrongType": "setNull", "invalidUtf8": "replace"}
_OF_DOCUMENTS = {**_OF_LINES, "wrongType": "convert", "duplicates": "last"}

RICH = (
    BY_NAME,
    BY_PATTERN,
    rich(
        "by-schema",
        value={
            "json": {
                "fields": [
                    {"name": "at", "type": "list<timestamp[ms] not null>", "required": True, "format": "epoch[us]"},
                    {"name": "id", "type": "int64"},
                    {"name": "seen", "type": "timestamp[ms]"},
                    {"name": "land", "type": "string", "default": "unknown"},
                    {"name": "user", "type": "struct<email: string, phone: string>"},
                ],
                "unknownFields": "keep",
                "restColumn": "others",
                "faults": _OF_DOCUMENTS,
            },
            "rename": [{"field": "land", "to": "country"}],
            "hash": {"fields": ["user.email"], "secretName": "pseudonyms"},
            "mask": [{"fields": ["user.phone"], "keepLast": 3}],
        },
        quarantine={"format": "parquet", "holdAbove": "5%", "keepValue": False},
        output={
            "parquet": {
                "compression": "snappy",
                "kafkaColumns": ["offset", "key"],
                "tombstones": "null",
                "rowGroupBytes": "8Mi",
                "pageBytes": "64Ki",
                "pageIndex": True,
                "withoutDictionary": ["kafka_key"],
                "bloomFilters": [{"field": "kafka_key", "distinct": 1000}],
                "sortBy": [{"field": "user.email", "order": "descending", "nulls": "first"}],
                "fieldIds": [{"field": name, "id": number} for number, name in enumerate(_NUMBERED, 1)],
            },
            "partitionBy": [
                {"date": {"granularity": "day", "field": "seen"}},
                {"field": "id", "prefix": "of="},
                {"truncate": {"field": "country", "width": 2}},
                {"bucket": {"field": "id", "count": 16}, "prefix": "shard="},
            ],
        },
    ),
    rich(
        "by-override",
        kafka={"bootstrapServers": "a:9092", "topics": ["events", "raw"]},
        value={"json": {}},
        overrides=[
            {
                "topics": ["events"],
                "value": {"avro": {"registry": {"url": "http://registry:8081", "framing": "apicurio"}}},
                "key": {"avro": {"fields": _FIELDS}},
                "quarantine": {"holdAbove": "5%"},
                "output": {"jsonl": {"kafkaColumns": ["key"]}, "partitionBy": []},
                "upload": {"maxBytes": "1Mi", "maxAge": "1m"},
            },
            {"topicPattern": "^raw", "value": {"bytes": {}}, "output": {"text": {"compression": "none"}}},
        ],
    ),
    rich(
        "by-value",
        value={
            "avro": {
                "registry": {
                    "url": "https://registry.example.com:8081/apis/ccompat/v7",
                    "secretName": "registry-login",
                    "framing": "apicurio",
                },
                "fields": [*_FIELDS, {"name": "country", "type": "string"}],
                "faults": _OF_TEXTS,
            }
        },
        key={
            "avro": {
                "registry": {
                    "url": "https://registry.example.com:8081/apis/ccompat/v7",
                    "secretName": "registry-login",
                    "framing": "confluent",
                    "version": 3,
                },
                "fields": [
                    {"name": "id", "type": "int64", "required": True},
                    {"name": "at", "type": "timestamp[s]", "format": "epoch[ms]"},
                ],
            },
            "column": "of",
        },
        output={
            "jsonl": {"compression": "zstd", "kafkaColumns": ["key", "offset"], "tombstones": "null"},
            "partitionBy": [
                {"lower": "country", "prefix": "land="},
                {"date": {"granularity": "day", "field": "country", "format": "pattern[yyyyMMdd]"}},
            ],
        },
    ),
    rich(
        "by-avro",
        value={
            "avro": {
                "registry": {"url": "http://registry:8081"},
                "schema": _ORDER.replace("}]", '}, {"name": "mail", "type": "string"}]'),
            },
            "drop": ["mail"],
        },
        quarantine={"holdAbove": "0%"},
        output={"parquet": {}, "partitionBy": _BY_ID},
    ),
    rich(
        "by-registry",
        value={"avro": {"registry": {"url": "http://registry:8081", "version": 4, "subject": "all.{topic}"}}},
        output={"parquet": {}, "partitionBy": [{"date": {"granularity": "day", "field": "at"}}]},
    ),
    rich(
        "by-message",
        value={
            "protobuf": {
                "schema": "package shop; message Item { } message Click { required int64 id = 1; }",
                "message": "shop.Click",
                "fields": _FIELDS[:1],
                "faults": _OF_TEXTS,
            }
        },
        output=_IN_AVRO,
    ),
    rich(
        "by-subject",
        value={"protobuf": {"registry": {**_REGISTRY, "framing": "apicurio"}, "fields": _FIELDS}},
        key={"protobuf": {"registry": {**_REGISTRY, "framing": "confluent"}, "fields": _FIELDS}},
    ),
    rich(
        "by-struct",
        value={
            "thrift": {
                "idl": "struct Item { } struct Click { 1: required i64 id, 2: i64 at }",
                "struct": "Click",
                "protocol": "compact",
                "fields": _FIELDS,
                "faults": _OF_TEXTS,
            }
        },
        output={
            "orc": {"compression": "zlib", "kafkaColumns": ["offset"], "tombstones": "null", "stripeBytes": "16Mi"},
            "partitionBy": _BY_ID,
        },
    ),
    rich(
        "by-csv",
        value={
            "csv": {
                "delimiter": ";",
                "quote": "'",
                "escape": "|",
                "nullText": "NULL",
                "columns": ["id", "at", "left_out"],
                "fields": _FIELDS,
                "unknownFields": "keep",
                "restColumn": "others",
                "faults": _OF_LINES,
            }
        },
        output={"parquet": {}, "partitionBy": _BY_ID},
    ),
    rich(
        "by-regex",
        storage={"bucket": "logs", "acl": "bucket-owner-full-control", "conditionalWrites": False},
        autoRepair={"nodeLostAfter": "5m"},
        value={
            "regex": {"pattern": "(?P<id>\\d+|-) (?P<at>\\d+)", "nullText": "-", "fields": _FIELDS, "faults": _OF_LINES}
        },
        output=_IN_AVRO,
    ),
    rich(
        "by-map",
        value={
            "messagepack": {
                "fields": [*_FIELDS, {"name": "n", "type": "int64", "default": 1}],
                "unknownFields": "keep",
                "restColumn": "others",
                "faults": _OF_DOCUMENTS,
            }
        },
        key={"messagepack": {"fields": _FIELDS}},
        output={"avro": {}},
    ),
    rich(
        "by-table",
        kafka={"bootstrapServers": "a:9092", "topics": ["events", "clicks"]},
        value={"json": {"fields": [{"name": "id", "type": "int64"}, {"name": "at", "type": "timestamp[us]"}]}},
        output={"parquet": {}, "partitionBy": [{"date": {"granularity": "day"}}]},
        table={
            "format": "iceberg",
            "catalog": {
                "type": "rest",
                "name": "lake",
                "uri": "https://catalog.example.com/api/catalog",
                "warehouse": "lake",
                "secretName": "catalog-login",
                "properties": {"scope": "PRINCIPAL_ROLE:ALL"},
            },
            "name": "lake_{generation}.{topic}",
            "create": False,
            "properties": {"history.expire.max-snapshot-age-ms": "86400000"},
            "commitInterval": "5m",
        },
        overrides=[{"topics": ["clicks"], "table": {"name": "lake.web_clicks"}}],
    ),
    rich(
        "by-hive",
        kafka={"bootstrapServers": "a:9092", "topics": ["events", "clicks"]},
        output={"avro": {}, "partitionBy": [{"date": {"granularity": "day"}}]},
        finish={"policy": ["successFile"]},
        table={
            "format": "hive",
            "catalog": {"type": "glue", "region": "eu-west-1", "secretName": "glue"},
            "name": "lake.{topic}",
            "partitions": "onFinish",
        },
    ),
    BY_TYPES,
    rich(
        "by-types-in-tables",
        value=_ID,
        output={"parquet": {}},
        types={
            "header": "event-type",
            "entries": [
                {"names": ["order", "refund"], "table": True},
                {"pattern": "^audit[.]", "table": False},
                {"pattern": ".", "folder": "others", "table": False},
            ],
        },
        table={
            "format": "iceberg",
            "catalog": {"type": "rest", "uri": "https://catalog.example.com"},
            "name": "lake.{topic}_{type}",
        },
    ),
    BY_FRAMES,
    rich(
        "by-keys",
        output={
            "archive": {"compression": "xz", "naming": "hashed", "fileName": "{time}-{hash}{postfix}"},
            "partitionBy": [{"key": {"prefix": "feed="}}, {"date": {"granularity": "hour"}}],
        },
        finish={"policy": ["archive"]},
        storage={
            "bucket": "logs",
            "copies": [_STORAGE | {"acl": "bucket-owner-full-control", "conditionalWrites": True}],
        },
    ),
    rich("by-frames", types={"key": True, "entries": [{"pattern": "^order"}]}),
    rich("by-frames", types={"field": "meta.type", "entries": [{"pattern": "^order"}], "others": {"action": "store"}}),
    rich(
        "by-schema-names",
        value={"avro": {"registry": {"url": "https://registry:8081"}}},
        types={"schemaName": "record", "entries": [{"names": ["shop.Order"], "value": {"avro": {"fields": _FIELDS}}}]},
    ),
    *(
        rich(
            f"by-{way}",
            value={"protobuf": {"schema": _ENVELOPE}},
            types={
                way: {**of, "column": "envelope"},
                "entries": [{"names": [name], "value": {"protobuf": {"message": "Order"}}}],
            },
        )
        for way, of, name in (("any", {"field": "event"}, "Order"), ("oneof", _PAYLOAD, "order"))
    ),
    rich(
        "without-ids",
        kafka=_ORDERS,
        value={
            "avro": {
                "registry": {"url": "glue://eu-central-1/orders", "subject": "{topic}-orders"},
                "singleObject": {"schemas": [_ORDER.replace("Order", "Former")]},
                "schema": _ORDER,
            }
        },
        key={
            "avro": {
                "registry": {"url": "glue://eu-central-1/orders", "subject": "{topic}-ids"},
                "singleObject": {"schemas": [_ORDER]},
                "schema": _ORDER,
            }
        },
    ),
    rich(
        "without-header",
        value={"avro": {"writer": _ORDER, "fields": _FIELDS}},
        key={"avro": {"writer": _ORDER, "schema": _ORDER}},
    ),
    rich(
        "json-schema",
        kafka=_ORDERS,
        value={
            "json": {"jsonSchema": '{"type": "object", "properties": {"n": {"type": "integer"}}}', "framing": "glue"}
        },
        key={"protobuf": {"schema": "message A { } message Key { required int64 id = 1; }", "message": "Key"}},
    ),
    rich(
        "json-keys",
        value={"json": {"fields": [{"name": "n", "type": "int64"}], "framing": "confluent"}},
        key={"json": {"fields": _FIELDS, "framing": "confluent"}},
    ),
    rich(
        "thrift-keys",
        kafka=_ORDERS,
        value={"json": {"registry": _REGISTRY, "framing": "apicurio"}},
        key={
            "thrift": {
                "idl": "struct Other { } struct Key { 1: i64 id, 2: i64 at }",
                "struct": "Key",
                "protocol": "compact",
                "fields": _FIELDS,
            }
        },
    ),
    rich(
        "message-keys",
        value={"avro": {"registry": {"url": "http://registry:8081"}, "fields": [{"name": "n", "type": "int64"}]}},
        key={"protobuf": {"writer": "message Key { required int64 id = 1; }"}},
    ),
    rich("any-bytes", value={"bytes": {}}, output={"kafka": {}}),
    rich("by-writer", value={"protobuf": {"writer": "message Click { required int64 id = 1; }"}}),
    rich("text-keys", value=_ID, key={"text": {"type": "timestamp[ms]", "format": "epoch[s]"}, "column": "at"}),
    rich(
        "by-conditions",
        **{
            **_KEPT["spec"],
            "keep": [{"field": "level", "in": [1, 2, 3], "notIn": [2], **_BOUNDS}],
            "overrides": [{"topicPattern": "^e", "keep": [{"field": "level", "absent": False}]}],
        },
    ),
    rich(
        "by-conditions",
        **{**_KEPT["spec"], "keep": [{"field": "country", "matches": "^D"}, {"field": "level", "absent": False}]},
    ),
    rich(
        "by-headers",
        **{
            **BY_TYPES["spec"],
            "keep": [{"header": "env", "absent": True}],
            "types": {
                "header": "event-type",
                "entries": [{"names": ["a"], "keep": [{"header": "env", "in": ["prod"]}]}],
            },
        },
    ),
)
