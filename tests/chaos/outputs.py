"""The groups of a run: what each stores of which topics, and how it is read again."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tests.chaos import events, sales
from tests.chaos.check import ByContent, Layout, SequenceFiles, TextByDay
from tests.chaos.choices import Choices, Late
from tests.chaos.compactor import NAMESPACE
from tests.chaos.contents import QUARANTINE
from tests.chaos.minutes import ByMinute
from tests.chaos.producer import ROW_TOPICS, TOPICS, Topic
from tests.chaos.witnesses import Content, Read, escaped_gzip_lines, messagepack_files, record_batches

BUCKET = "chaos"
LATENESS_SECONDS = 10
"""`finish.allowedLateness` of the group with a table."""
_MINUTES = [{"date": {"granularity": level}} for level in ("day", "hour", "minute")]


@dataclass(frozen=True)
class Addresses:
    """Where the servers of a run are, as members reach them."""

    bootstrap: str
    endpoint: str
    registry: str = ""
    catalog: str = ""


@dataclass(frozen=True)
class Edits:
    """What a person has changed in a manifest while members worked."""

    corrected: bool = False
    generation: int = 1


NO_EDITS = Edits()
Spec = Callable[[Addresses, Edits], dict[str, Any]]
"""Returns what a spec says of records."""


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
    """Names of files in its folders that are no objects of records; a metastore makes one without a name."""
    is_corrected: bool = False
    """Whether its manifest is corrected in the middle of a run, and its quarantine replayed."""
    rows_of_table: Layout | None = None
    """What rows of its table look like, if it has one. Its folders are finished, too."""
    choices: Choices = field(default_factory=Choices)

    @property
    def has_table(self) -> bool:
        return self.rows_of_table is not None

    @property
    def finished(self) -> ByMinute:
        """The layout of its folders, where they are finished."""
        assert isinstance(self.layout, ByMinute)
        return self.layout

    @property
    def late(self) -> Late:
        return self.choices.late if self.has_table else "append"

    def manifest(self, addresses: Addresses, *, session_seconds: int, edits: Edits = NO_EDITS) -> dict[str, Any]:
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
                "generation": edits.generation,
                "shutdownGrace": "10s",
                **self.spec(addresses, edits),
            },
        }


def _text(_: Addresses, _edits: Edits) -> dict[str, Any]:
    return {
        "output": {
            "text": {"compression": "gzip", "delimiterInValue": "escape"},
            "partitionBy": [{"date": {"granularity": "day"}}],
        }
    }


def _files(choices: Choices) -> dict[str, Any]:
    if choices.files == "kafka":
        return {"output": {"kafka": {}}}
    return {"output": {"sequencefile": {"key": "messagepack", "compressionType": "block"}}}


def _sales(addresses: Addresses) -> dict[str, Any]:
    return {"value": {"avro": {"registry": {"url": addresses.registry}}}}


def _rows(addresses: Addresses, edits: Edits) -> dict[str, Any]:
    """Events of many types, and sales in a folder for each shop, whose ranges may take several passes."""
    by_shop = [{"field": "shop", "prefix": sales.PREFIX}]
    output = {"parquet": {"kafkaColumns": ["offset", "timestamp", "key"]}, "partitionBy": by_shop}
    of_sales = {"topics": [sales.TOPIC], "output": output, "upload": {"maxBytes": "64Mi", "maxAge": "8s"}}
    return {
        "value": {"json": {}},
        "output": {"parquet": {}},
        "types": events.types(corrected=edits.corrected),
        "overrides": [of_sales | _sales(addresses)],
        "upload": {"maxBytes": "12Mi", "maxAge": "4s"},
    }


def _table(addresses: Addresses, choices: Choices) -> dict[str, Any]:
    """Sales once more: in a table, and in folders by minute that are finished."""
    columns = {"kafkaColumns": ["partition", "offset", "timestamp", "key"], "tombstones": "null"}
    return {
        **_sales(addresses),
        "output": {"parquet": columns, "partitionBy": _MINUTES},
        "upload": {"maxBytes": "12Mi", "maxAge": "4s"},
        "table": _catalog(addresses, choices) | {"commitInterval": "5s"},
        "finish": {
            "policy": ["manifest", "done", "successFile"],
            "allowedLateness": f"{LATENESS_SECONDS}s",
            "idleAfter": "1h",
            "storeAtEnd": True,
            "late": choices.late,
        },
    }


def _catalog(addresses: Addresses, choices: Choices) -> dict[str, Any]:
    """Return what a manifest says of the table: its format, catalog and name."""
    name = f"{NAMESPACE}.{{topic}}"
    if choices.table == "hive":
        hive = {"type": "hive", "uri": addresses.catalog}
        return {"format": "hive", "catalog": hive, "name": name, "partitions": choices.partitions}
    rest = {"type": "rest", "uri": addresses.catalog, "properties": {"s3.endpoint": addresses.endpoint}}
    return {"format": "iceberg", "catalog": rest, "name": name}


def _rows_of(topic: str, path: str, content: bytes) -> Content:
    if topic == sales.TOPIC:
        return Content(*sales.rows_of(content, quarantined=path == QUARANTINE))
    return Content(events.rows_of(path, content))


TEXT = Output("text", TOPICS, _text, TextByDay(), escaped_gzip_lines, members=2)
FILES = Output("files", TOPICS, lambda *_: _files(Choices()), SequenceFiles(), messagepack_files)


ROWS = Output("rows", ROW_TOPICS, _rows, ByContent(), _rows_of, members=2, is_corrected=True)


def _table_group(choices: Choices) -> Output:
    # Rows in `_late` are rows of an Iceberg table, in the partition of their own folder, and of no Hive table.
    of_table: Late = "append" if choices.late == "folder" and choices.table != "hive" else choices.late
    return Output(
        "table",
        [one for one in ROW_TOPICS if one.name == sales.TOPIC],
        lambda addresses, _: _table(addresses, choices),
        ByMinute(choices.late),
        _rows_of,
        members=2,
        markers=re.compile(r"_SUCCESS|_manifest\.json|\.\d+\.done" + (r"|" if choices.table == "hive" else "")),
        rows_of_table=ByMinute(of_table),
        choices=choices,
    )


@cache
def outputs(choices: Choices) -> Mapping[str, Output]:
    """Return all groups, by name."""
    read = record_batches if choices.files == "kafka" else messagepack_files
    files = replace(FILES, spec=lambda *_: _files(choices), read=read, choices=choices)
    found = (TEXT, files, ROWS, _table_group(choices))
    return {output.name: output for output in found}


OUTPUTS = outputs(Choices())
"""Those of a run that chooses nothing: names, members and topics of any bytes are always the same."""
TABLE = OUTPUTS["table"]
