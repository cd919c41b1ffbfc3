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
        "storage": {
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
        },
        "output": {
            "format": "text",
            "compression": "zstd",
            "tombstones": "empty",
            "text": {"delimiter": "\u001e", "delimiterInValue": "escape"},
            "partitionBy": [
                {"date": {"granularity": "day", "timezone": "Europe/Berlin", "prefix": "day="}},
                {"offset": {"every": 1000}},
            ],
        },
        "parser": {"type": "json"},
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
        "spark": {
            "executors": 2,
            "conf": {"spark.executor.memory": "2g"},
            "executorPodTemplate": _POD,
        },
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
            "shadow": {
                "groupId": "clicks-shadow",
                "prefix": "shadow",
                "members": 2,
                "duration": "1h",
                "minRanges": 5,
            },
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

BY_PATTERN: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-pattern"},
    "spec": {
        "kafka": {
            "bootstrapServers": "a:9092",
            "topicPattern": "^web[.]",
            "excludeTopicPattern": "test$",
        },
        "storage": {"bucket": "logs"},
        "output": {
            "format": "sequencefile",
            "compression": "deflate",
            "tombstones": "skip",
            "sequencefile": {"key": "messagepack", "compressionType": "record"},
            "partitionBy": [{"date": {"granularity": "hour"}}, {"date": {"granularity": "minute"}}],
        },
        "overrides": [{"topicPattern": "^web[.]raw", "output": {"compression": "none"}}],
        "spark": {"minExecutors": 1, "maxExecutors": 10},
        "serviceAccount": {"name": "logs-writer"},
    },
}

BY_SCHEMA: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-schema"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "parser": {
            "type": "json",
            "unknownFields": "keep",
            "restColumn": "others",
            "faults": {
                "wrongType": "convert",
                "overflow": "setNull",
                "badText": "setNull",
                "duplicates": "last",
                "invalidUtf8": "replace",
            },
            "quarantine": {"format": "parquet", "holdAbove": "5%", "keepValue": False},
        },
        "schema": {
            "fields": [
                {"name": "at", "type": "list<timestamp[ms] not null>", "required": True, "format": "epoch[us]"},
                {"name": "id", "type": "int64"},
                {"name": "seen", "type": "timestamp[ms]"},
                {"name": "land", "type": "string", "default": "unknown"},
                {"name": "user", "type": "struct<email: string, phone: string>"},
            ],
            "rename": [{"field": "land", "to": "country"}],
            "hash": {"fields": ["user.email"], "secretName": "pseudonyms"},
            "mask": [{"fields": ["user.phone"], "keepLast": 3}],
        },
        "output": {
            "format": "parquet",
            "compression": "snappy",
            "kafkaColumns": ["offset", "key"],
            "tombstones": "null",
            "parquet": {
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
    },
}

BY_OVERRIDE: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-override"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events", "raw"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "json"},
        "overrides": [
            {
                "topics": ["events"],
                "parser": {"type": "avro", "framing": "apicurio"},
                "schema": {"registry": {"url": "http://registry:8081"}},
                "output": {"format": "jsonl", "kafkaColumns": ["key"], "partitionBy": []},
                "upload": {"maxBytes": "1Mi", "maxAge": "1m"},
            },
            {"topicPattern": "^raw", "parser": {"type": "bytes"}, "output": {"compression": "none"}},
        ],
    },
}

BY_VALUE: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-value"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "avro", "framing": "apicurio", "quarantine": {"format": "parquet"}},
        "schema": {
            "registry": {"url": "https://registry.example.com:8081/apis/ccompat/v7", "secretName": "registry-login"},
            "fields": [{"name": "country", "type": "string"}],
            "key": {
                "parser": "avro",
                "type": "struct<id: int64 not null, at: timestamp[s]>",
                "format": "epoch[ms]",
                "framing": "apicurio",
                "column": "of",
            },
        },
        "output": {
            "format": "jsonl",
            "compression": "zstd",
            "kafkaColumns": ["key", "offset"],
            "tombstones": "null",
            "partitionBy": [
                {"lower": "country", "prefix": "land="},
                {"date": {"granularity": "day", "field": "country", "format": "pattern[yyyyMMdd]"}},
            ],
        },
    },
}

BY_AVRO: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-avro"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "avro", "quarantine": {"holdAbove": "0%"}},
        "schema": {
            "registry": {"url": "http://registry:8081"},
            "avro": '{"type": "record", "name": "Click", "fields": [{"name": "id", "type": "long"},'
            ' {"name": "mail", "type": "string"}]}',
            "drop": ["mail"],
        },
        "output": {"format": "parquet", "partitionBy": [{"field": "id", "prefix": "of="}]},
    },
}

BY_REGISTRY: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-registry"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "avro"},
        "schema": {"registry": {"url": "http://registry:8081", "version": 4, "subject": "all.{topic}"}},
        "output": {"format": "parquet", "partitionBy": [{"date": {"granularity": "day", "field": "at"}}]},
    },
}

BY_MESSAGE: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-message"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "protobuf", "framing": "plain"},
        "schema": {
            "protobuf": "package shop; message Item { } message Click { required int64 id = 1; }",
            "message": "shop.Click",
        },
        "output": {
            "format": "avro",
            "kafkaColumns": ["offset"],
            "tombstones": "null",
            "partitionBy": [{"field": "id", "prefix": "of="}],
        },
    },
}

BY_STRUCT: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-struct"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "thrift", "thrift": {"protocol": "compact"}},
        "schema": {"thrift": {"idl": "struct Item { } struct Click { 1: required i64 id }", "struct": "Click"}},
        "output": {
            "format": "orc",
            "kafkaColumns": ["offset"],
            "tombstones": "null",
            "orc": {"stripeBytes": "16Mi"},
            "partitionBy": [{"field": "id", "prefix": "of="}],
        },
    },
}

BY_CSV: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-csv"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "parser": {
            "type": "csv",
            "csv": {"delimiter": ";", "quote": "'", "escape": "|", "nullText": "NULL", "columns": ["id", "left_out"]},
        },
        "schema": {"fields": [{"name": "id", "type": "int64"}]},
        "output": {"format": "parquet", "partitionBy": [{"field": "id", "prefix": "of="}]},
    },
}

BY_REGEX: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-regex"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs", "acl": "bucket-owner-full-control", "conditionalWrites": False},
        "autoRepair": {"nodeLostAfter": "5m"},
        "parser": {"type": "regex", "regex": {"pattern": r"(?P<id>\d+|-)", "nullText": "-"}},
        "schema": {"fields": [{"name": "id", "type": "int64"}]},
        "output": {
            "format": "avro",
            "kafkaColumns": ["offset"],
            "tombstones": "null",
            "partitionBy": [{"field": "id", "prefix": "of="}],
        },
    },
}

BY_TABLE: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-table"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events", "clicks"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "json"},
        "schema": {"fields": [{"name": "id", "type": "int64"}, {"name": "at", "type": "timestamp[us]"}]},
        "output": {"format": "parquet", "partitionBy": [{"date": {"granularity": "day"}}]},
        "table": {
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
        "overrides": [{"topics": ["clicks"], "table": {"name": "lake.web_clicks"}}],
    },
}

BY_HIVE: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-hive"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events", "clicks"]},
        "storage": {"bucket": "logs"},
        "output": {"format": "avro", "partitionBy": [{"date": {"granularity": "day"}}]},
        "finish": {"policy": ["successFile"]},
        "table": {
            "format": "hive",
            "catalog": {"type": "glue", "region": "eu-west-1", "secretName": "glue"},
            "name": "lake.{topic}",
            "partitions": "onFinish",
        },
    },
}

BY_TYPES: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-types"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "output": {"format": "parquet"},
        "types": {
            "header": "event-type",
            "prefix": "event=",
            "entries": [
                {
                    "names": ["order", "refund"],
                    "folder": "orders",
                    "action": "store",
                    "parser": {"type": "json"},
                    "schema": {"fields": [{"name": "id", "type": "int64"}]},
                    "output": {"format": "avro", "partitionBy": [{"field": "id", "prefix": "of="}]},
                },
                {"pattern": "^noise[.]", "action": "drop"},
            ],
            "others": {
                "action": "store",
                "folder": "others",
                "parser": {"type": "json"},
                "schema": {"fields": [{"name": "id", "type": "int64"}]},
                "output": {"format": "jsonl"},
            },
            "holdAbove": "10%",
        },
    },
}

BY_TYPES_IN_TABLES: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-types-in-tables"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "json"},
        "schema": {"fields": [{"name": "id", "type": "int64"}]},
        "output": {"format": "parquet"},
        "types": {
            "header": "event-type",
            "entries": [{"names": ["order", "refund"], "table": True}, {"pattern": "^audit[.]", "table": False}],
            "others": {"action": "store", "folder": "others", "table": False},
        },
        "table": {
            "format": "iceberg",
            "catalog": {"type": "rest", "uri": "https://catalog.example.com"},
            "name": "lake.{topic}_{type}",
        },
    },
}

BY_FRAMES: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-frames"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "types": {
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
    },
}

BY_KEYS, BY_FIELDS = (
    {
        **BY_FRAMES,
        "spec": {**BY_FRAMES["spec"], "types": {**way, "entries": [{"pattern": "^order"}]}},
    }
    for way in ({"key": True}, {"field": "meta.type"})
)

BY_SCHEMA_NAMES: dict[str, Any] = {
    **BY_FRAMES,
    "metadata": {"name": "by-schema-names"},
    "spec": {
        **BY_FRAMES["spec"],
        "parser": {"type": "avro"},
        "schema": {"registry": {"url": "https://registry:8081"}},
        "types": {
            "schemaName": "record",
            "entries": [{"names": ["shop.Order"], "schema": {"fields": [{"name": "id", "type": "int64"}]}}],
        },
    },
}

_ENVELOPE = """syntax = "proto3"; import "google/protobuf/any.proto";
message Envelope { google.protobuf.Any event = 1; oneof payload { Order order = 2; Order refund = 3; } }
message Order { int64 id = 1; }"""
_ANY: dict[str, Any] = {"any": {"field": "event", "column": "envelope"}}
_ONEOF: dict[str, Any] = {"oneof": {"name": "payload", "parse": "field", "column": "envelope"}}
BY_ANY, BY_ONEOF = (
    {
        **BY_FRAMES,
        "metadata": {"name": f"by-{next(iter(way))}"},
        "spec": {
            **BY_FRAMES["spec"],
            "parser": {"type": "protobuf", "framing": "plain"},
            "schema": {"protobuf": _ENVELOPE},
            "types": {**way, "entries": [{"names": [name], "schema": {"message": "Order"}}]},
        },
    }
    for way, name in ((_ANY, "Order"), (_ONEOF, "order"))
)

_ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'

WITHOUT_IDS: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "without-ids"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["orders"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "avro", "framing": "singleObject", "quarantine": {"format": "parquet"}},
        "schema": {
            "avro": _ORDER,
            "writers": [_ORDER.replace("Order", "Former")],
            "registry": {"url": "glue://eu-central-1/orders", "subject": "{topic}-orders"},
            "key": {
                "parser": "avro",
                "framing": "singleObject",
                "avro": _ORDER,
                "subject": "{topic}-ids",
            },
        },
    },
}

BY_JSON_SCHEMA: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "json-schema"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["orders"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "json", "framing": "glue", "quarantine": {"format": "parquet"}},
        "schema": {
            "jsonSchema": '{"type": "object", "properties": {"n": {"type": "integer"}}}',
            "key": {
                "parser": "protobuf",
                "framing": "plain",
                "protobuf": "message A { } message Key { required int64 id = 1; }",
                "message": "Key",
            },
        },
    },
}

THRIFT_KEYS: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "thrift-keys"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["orders"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "json", "framing": "apicurio", "quarantine": {"format": "parquet"}},
        "schema": {
            "registry": {"url": "http://registry:8081", "version": 2},
            "key": {
                "parser": "thrift",
                "thrift": {"idl": "struct Other { } struct Key { 1: i64 id }", "struct": "Key", "protocol": "compact"},
            },
        },
    },
}

_KEPT: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {"name": "by-conditions"},
    "spec": {
        "kafka": {"bootstrapServers": "a:9092", "topics": ["events"]},
        "storage": {"bucket": "logs"},
        "parser": {"type": "json", "quarantine": {"format": "parquet", "keepValue": False}},
        "schema": {
            "fields": [
                {"name": "country", "type": "string"},
                {"name": "level", "type": "int16"},
                {"name": "id", "type": "int64"},
            ],
            "drop": ["level"],
        },
        "output": {"format": "parquet"},
    },
}
_BOUNDS: dict[str, Any] = {"atLeast": -3, "atMost": 300, "below": 300, "orAbsent": True}
BY_CONDITIONS: dict[str, Any] = {
    **_KEPT,
    "spec": {
        **_KEPT["spec"],
        "keep": [{"field": "level", "in": [1, 2, 3], "notIn": [2], **_BOUNDS}],
        "overrides": [{"topicPattern": "^e", "keep": [{"field": "level", "absent": False}]}],
    },
}
BY_PATTERN_OF_TEXT: dict[str, Any] = {
    **_KEPT,
    "spec": {
        **_KEPT["spec"],
        "keep": [{"field": "country", "matches": "^D"}, {"field": "level", "absent": False}],
    },
}
BY_HEADERS: dict[str, Any] = {
    **BY_TYPES,
    "metadata": {"name": "by-headers"},
    "spec": {
        **BY_TYPES["spec"],
        "keep": [{"header": "env", "absent": True}],
        "types": {
            "header": "event-type",
            "entries": [{"names": ["a"], "keep": [{"header": "env", "in": ["prod"]}]}],
            "others": {"action": "store", "keep": [{"header": "env", "notIn": ["test"]}]},
        },
    },
}

RICH = (
    BY_NAME,
    BY_PATTERN,
    BY_SCHEMA,
    BY_OVERRIDE,
    BY_VALUE,
    BY_AVRO,
    BY_REGISTRY,
    BY_MESSAGE,
    BY_STRUCT,
    BY_CSV,
    BY_REGEX,
    BY_TABLE,
    BY_HIVE,
    BY_TYPES,
    BY_TYPES_IN_TABLES,
    BY_FRAMES,
    BY_KEYS,
    BY_FIELDS,
    BY_SCHEMA_NAMES,
    BY_ANY,
    BY_ONEOF,
    WITHOUT_IDS,
    BY_JSON_SCHEMA,
    THRIFT_KEYS,
    BY_CONDITIONS,
    BY_PATTERN_OF_TEXT,
    BY_HEADERS,
)
