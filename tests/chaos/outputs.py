"""The groups of a run: what each stores of which topics, and how it is read again."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from tests.chaos import events, readings, sales
from tests.chaos.check import ByContent, Layout, SequenceFiles, TextByDay
from tests.chaos.choices import Choices, Late
from tests.chaos.compactor import NAMESPACE
from tests.chaos.conditions import OF_HEADERS, OF_SALES
from tests.chaos.contents import QUARANTINE
from tests.chaos.minutes import ByTypeAndMinute, MinuteFolders, OfType
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
    version: int | None = None
    """Of the schema of sales; None: the latest."""
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
    tables: Mapping[str, Layout] = field(default_factory=dict)
    """Its tables, by their names in `NAMESPACE`, with what their rows look like. Its folders are finished, too."""
    choices: Choices = field(default_factory=Choices)

    @property
    def has_table(self) -> bool:
        return bool(self.tables)

    @property
    def finished(self) -> MinuteFolders:
        """The layout of its folders, where they are finished."""
        assert isinstance(self.layout, MinuteFolders)
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


def _sales(addresses: Addresses, edits: Edits) -> dict[str, Any]:
    pinned = {} if edits.version is None else {"version": edits.version}
    return {"value": {"avro": {"registry": {"url": addresses.registry, **pinned}}}}


def _keep(choices: Choices, *conditions: Mapping[str, Any]) -> dict[str, Any]:
    return {"keep": [*OF_HEADERS, *conditions]} if choices.keeps else {}


def _rows(addresses: Addresses, edits: Edits, choices: Choices) -> dict[str, Any]:
    """Events of many types, sales in a folder for each shop, whose ranges may take several passes, and readings."""
    by_shop = [{"field": "shop", "prefix": sales.PREFIX}]
    output = {"parquet": {"kafkaColumns": ["offset", "timestamp", "key"]}, "partitionBy": by_shop}
    of_sales = {"topics": [sales.TOPIC], "output": output, "upload": {"maxBytes": "64Mi", "maxAge": "8s"}}
    of_sales |= _sales(addresses, edits) | _keep(choices, *OF_SALES)
    # It has headers then, which a replay needs where conditions are about them.
    of_sales["quarantine"] = {"format": "parquet"}
    of_readings = readings.spec(choices) | _keep(choices)
    return {
        "value": {"json": {}},
        "output": {"parquet": {}},
        "types": events.types(corrected=edits.corrected, keeps=choices.keeps),
        **_keep(choices),
        "overrides": [of_sales, of_readings],
        "upload": {"maxBytes": "12Mi", "maxAge": "4s"},
    }


def _table(addresses: Addresses, edits: Edits, choices: Choices) -> dict[str, Any]:
    """Sales or events once more: in tables, and in folders by minute that are finished."""
    columns = {"kafkaColumns": ["partition", "offset", "timestamp", "key"], "tombstones": "null"}
    of_sales = {
        **_sales(addresses, edits),
        "output": {"parquet": columns, "partitionBy": _MINUTES},
        **_keep(choices, *OF_SALES),
    }
    of_events = {
        "value": {"json": {}},
        "output": {"parquet": {}, "partitionBy": _MINUTES},
        "types": events.types_by_minute(keeps=choices.keeps),
        **_keep(choices),
    }
    return {
        **(of_events if choices.table == "types" else of_sales),
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
    if choices.table == "hive":
        catalog: dict[str, Any] = {"type": "hive", "uri": addresses.catalog}
        name, more = f"{NAMESPACE}.{{topic}}", {"partitions": choices.partitions}
        return {"format": "hive", "catalog": catalog, "name": name, **more}
    catalog = {"type": "rest", "uri": addresses.catalog, "properties": {"s3.endpoint": addresses.endpoint}}
    of_types = "_{type}" if choices.table == "types" else ""
    return {"format": "iceberg", "catalog": catalog, "name": f"{NAMESPACE}.{{topic}}{of_types}"}


def _rows_of(choices: Choices, topic: str, path: str, content: bytes) -> Content:
    if topic == readings.TOPIC:
        return Content(readings.rows_of(content, choices, quarantined=path == QUARANTINE))
    if topic == sales.TOPIC:
        return Content(*sales.rows_of(content, quarantined=path == QUARANTINE))
    return Content(events.rows_of(path, content))


TEXT = Output("text", TOPICS, _text, TextByDay(), escaped_gzip_lines, members=2)
FILES = Output("files", TOPICS, lambda *_: _files(Choices()), SequenceFiles(), messagepack_files)


def _rows_group(choices: Choices) -> Output:
    def spec(addresses: Addresses, edits: Edits) -> dict[str, Any]:
        return _rows(addresses, edits, choices)

    return Output(
        "rows", ROW_TOPICS, spec, ByContent(), partial(_rows_of, choices), members=2, is_corrected=True, choices=choices
    )


def _table_group(choices: Choices) -> Output:
    topic = events.TOPIC if choices.table == "types" else sales.TOPIC
    # Rows in `_late` are rows of an Iceberg table, in the partition of their own folder, and of no Hive table.
    of_table: Late = "append" if choices.late == "folder" and choices.table != "hive" else choices.late
    tables: dict[str, Layout] = {topic: sales.ByMinute(of_table)}
    layout: MinuteFolders = sales.ByMinute(choices.late)
    if choices.table == "types":
        layout, every = ByTypeAndMinute(choices.late), ByTypeAndMinute(of_table)
        tables = {f"{topic}_{name}": OfType(every, f"type={name}") for name in events.STORED_AS_PARQUET}
    return Output(
        "table",
        [one for one in ROW_TOPICS if one.name == topic],
        lambda addresses, edits: _table(addresses, edits, choices),
        layout,
        partial(_rows_of, choices),
        members=2,
        markers=re.compile(r"_SUCCESS|_manifest\.json|\.\d+\.done" + (r"|" if choices.table == "hive" else "")),
        tables=tables,
        choices=choices,
    )


@cache
def outputs(choices: Choices) -> Mapping[str, Output]:
    """Return all groups, by name."""
    read = record_batches if choices.files == "kafka" else messagepack_files
    files = replace(FILES, spec=lambda *_: _files(choices), read=read, choices=choices)
    found = (TEXT, files, _rows_group(choices), _table_group(choices))
    return {output.name: output for output in found}


OUTPUTS = outputs(Choices())
"""Those of a run that chooses nothing: names, members and topics of any bytes are always the same."""
ROWS, TABLE = OUTPUTS["rows"], OUTPUTS["table"]
