"""A table of clicks in a catalog of its own, in a folder; and files for it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog

from logpersister.manifest import LogPersister
from logpersister.ranges import Range, TopicPartition
from logpersister.storage.object_requests import StoredObject
from logpersister.storage.receipts import NO_TYPE, TableFile
from logpersister.tables.appends import Portion
from logpersister.tables.catalog import IcebergTable
from logpersister.tables.columns import TableColumns, table_columns
from tests.unit.manifest.documents import accepted

GROUP = "clicks-backup"
TOPIC_ID = "Zb2v0lyrTgqKUuG1nB9Rrg"
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "int32", "required": True},
    {"name": "at", "type": "timestamp[ms]"},
    {"name": "geo", "type": "struct<country: string not null, lat: float32>"},
    {"name": "tags", "type": "list<string not null>"},
    {"name": "counts", "type": "map<string, int16>"},
]
BY_DAY = [{"date": {"granularity": "day"}}]


def manifest(
    fields: Sequence[dict[str, Any]] = FIELDS, *, table: dict[str, Any] | None = None, **spec: Any
) -> LogPersister:
    named = {"format": "iceberg", "name": "lake.{topic}", "catalog": {"type": "sql", "uri": "sqlite:///none"}}
    rows: dict[str, Any] = {
        "value": {"json": {"fields": list(fields)}},
        "output": {"parquet": {"kafkaColumns": ["offset"]}, "partitionBy": BY_DAY},
        "table": named | (table or {}),
    }
    return accepted({"metadata.name": GROUP} | {f"spec.{block}": said for block, said in (rows | spec).items()})


def manifest_of_types(*entries: dict[str, Any]) -> LogPersister:
    """Return the manifest of a topic whose types have tables."""
    return manifest(table={"name": "lake.{topic}_{type}"}, types={"header": "type", "entries": list(entries)})


def columns(fields: Sequence[dict[str, Any]] = FIELDS) -> TableColumns:
    return table_columns(manifest(fields))


def catalog_in(folder: Path) -> Catalog:
    return load_catalog("t", type="sql", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")


def table_in(
    catalog: Catalog, *, topic: str = "clicks", group: str = GROUP, type_: str = NO_TYPE, **table: Any
) -> IcebergTable:
    spec = manifest(table=table).spec.table
    assert spec is not None
    return IcebergTable(catalog, spec, topic, 1, group, "logs", type_)


def table_file(start: int, end: int, partition: int = 0) -> TableFile:
    key = f"clicks/dt=2026-11-21/1_{partition}_{start:020d}.parquet"
    columns = {"1": {"size": 10, "values": end - start, "nulls": 0, "lower": "AAAAAA==", "upper": "AAAAAA=="}}
    return TableFile(key, 1000, end - start, ("2026-11-21",), columns, (4,))


def portion(start: int, end: int, partition: int = 0, *, rows: bool = True, **other: Any) -> Portion:
    """Return what a receipt has for a table; `rows`: whether it has any."""
    fields: dict[str, Any] = {"topic_id": TOPIC_ID, "generation": 1, "table": "uuid" if rows else None}
    return Portion(Range(TopicPartition("clicks", partition), start, end), **(fields | other))


class Documents:
    """A bucket of documents, each put once."""

    prefix = ""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}

    def get_json(self, key: str) -> dict[str, Any] | None:
        return self.documents.get(key)

    def put_json(self, key: str, document: Mapping[str, Any], *, if_absent: bool = False) -> StoredObject:
        assert if_absent
        existing = key in self.documents
        self.documents.setdefault(key, json.loads(json.dumps(document)))
        return StoredObject(key, 1, existing)
