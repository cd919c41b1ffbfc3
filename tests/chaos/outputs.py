"""The groups of a run: what each stores of which topics, and how it is read again."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.chaos import events, sales
from tests.chaos.check import ByContent, Layout, SequenceFiles, TextByDay
from tests.chaos.contents import QUARANTINE
from tests.chaos.producer import ROW_TOPICS, TOPICS, Topic
from tests.chaos.witnesses import Content, Read, escaped_gzip_lines, messagepack_files

BUCKET = "chaos"
NAMESPACE = "lake"
LATENESS_SECONDS = 10
"""`finish.allowedLateness` of the group with a table."""


@dataclass(frozen=True)
class Addresses:
    """Where the servers of a run are, as members reach them."""

    bootstrap: str
    endpoint: str
    registry: str = ""
    catalog: str = ""


Spec = Callable[[Addresses, bool], dict[str, Any]]
"""Gets whether the manifest is corrected; returns what a spec says of records."""


@dataclass(frozen=True)
class Output:
    """A consumer group of its own."""

    name: str
    """Group, prefix, and first part of its members' names."""
    topics: Sequence[Topic]
    spec: Spec
    layout: Layout
    read: Read
    members: int = 1
    markers: "re.Pattern[str] | None" = None
    """Names of files in its folders that are no objects of records."""
    is_corrected: bool = False
    """Whether its manifest is corrected in the middle of a run, and its quarantine replayed."""
    has_table: bool = False
    """Whether it has a table, and its folders are finished."""

    def manifest(self, addresses: Addresses, *, session_seconds: int, corrected: bool = False) -> dict[str, Any]:
        return {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "LogPersister",
            "metadata": {"name": self.name},
            "spec": {
                "kafka": {
                    "bootstrapServers": addresses.bootstrap,
                    "topics": [topic.name for topic in self.topics],
                    "sessionTimeout": f"{session_seconds}s",
                },
                "storage": {
                    "bucket": BUCKET,
                    "prefix": self.name,
                    "endpoint": addresses.endpoint,
                    "secretName": "s3",
                    "partSize": "5Mi",
                },
                "upload": {"maxBytes": "12Mi", "maxAge": "2s"},
                "cycleInterval": "300ms",
                "shutdownGrace": "10s",
                **self.spec(addresses, corrected),
            },
        }


def _text(_: Addresses, _corrected: bool) -> dict[str, Any]:
    return {
        "output": {
            "format": "text",
            "compression": "gzip",
            "text": {"delimiterInValue": "escape"},
            "partitionBy": [{"date": {"granularity": "day"}}],
        }
    }


def _files(_: Addresses, _corrected: bool) -> dict[str, Any]:
    return {
        "output": {
            "format": "sequencefile",
            "sequencefile": {"key": "messagepack", "compressionType": "block"},
        }
    }


def _sales(addresses: Addresses) -> dict[str, Any]:
    return {"parser": {"type": "avro"}, "schema": {"registry": {"url": addresses.registry}}}


def _rows(addresses: Addresses, corrected: bool) -> dict[str, Any]:
    """Events of many types, and sales in a folder for each shop, whose ranges may take several passes."""
    columns = {"kafkaColumns": ["offset", "timestamp", "key"]}
    by_shop = [{"field": "shop", "prefix": sales.PREFIX}]
    output = {"format": "parquet", "parquet": columns, "partitionBy": by_shop}
    of_sales = {"topics": [sales.TOPIC], "output": output, "upload": {"maxBytes": "64Mi", "maxAge": "8s"}}
    return {
        "parser": {"type": "json"},
        "output": {"format": "parquet"},
        "types": events.types(corrected=corrected),
        "overrides": [of_sales | _sales(addresses)],
        "upload": {"maxBytes": "12Mi", "maxAge": "4s"},
    }


def _table(addresses: Addresses, _: bool) -> dict[str, Any]:
    """Sales once more: in a table, and in folders by minute that are finished."""
    return {
        **_sales(addresses),
        "output": {
            "format": "parquet",
            "parquet": {"kafkaColumns": ["partition", "offset", "timestamp", "key"], "tombstones": "null"},
            "partitionBy": [{"date": {"granularity": level}} for level in ("day", "hour", "minute")],
        },
        "upload": {"maxBytes": "12Mi", "maxAge": "4s"},
        "table": {
            "format": "iceberg",
            "catalog": {"type": "rest", "uri": addresses.catalog, "properties": {"s3.endpoint": addresses.endpoint}},
            "name": f"{NAMESPACE}.{{topic}}",
            "commitInterval": "5s",
        },
        "finish": {
            "policy": ["manifest", "done", "successFile"],
            "allowedLateness": f"{LATENESS_SECONDS}s",
            "idleAfter": "1h",
            "storeAtEnd": True,
        },
    }


def _rows_of(topic: str, path: str, content: bytes) -> Content:
    if topic == sales.TOPIC:
        return Content(*sales.rows_of(content, quarantined=path == QUARANTINE))
    return Content(events.rows_of(path, content))


TEXT = Output("text", TOPICS, _text, TextByDay(), escaped_gzip_lines, members=2)
FILES = Output("files", TOPICS, _files, SequenceFiles(), messagepack_files)
ROWS = Output("rows", ROW_TOPICS, _rows, ByContent(), _rows_of, members=2, is_corrected=True)
TABLE = Output(
    "table",
    [topic for topic in ROW_TOPICS if topic.name == sales.TOPIC],
    _table,
    sales.ByMinute(),
    _rows_of,
    members=2,
    markers=re.compile(r"_SUCCESS|_manifest\.json|\.\d+\.done"),
    has_table=True,
)
OUTPUTS: Mapping[str, Output] = {output.name: output for output in (TEXT, FILES, ROWS, TABLE)}
