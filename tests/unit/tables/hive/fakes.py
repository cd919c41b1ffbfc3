"""A metastore in memory, and a topic with its table in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.member.hive_tables import topic_opener
from logpersister.tables.errors import TableError
from logpersister.tables.hive.columns import HiveColumns
from logpersister.tables.hive.duty import RegisteredTopic
from logpersister.tables.hive.folders import Partition
from logpersister.tables.hive.metastore import Column, StoredTable
from logpersister.tables.hive.table import HiveTable
from tests.unit.manifest.documents import accepted

GROUP, TOPIC = "g", "clicks"
BY_DAY: Final = [{"date": {"granularity": "day"}}]
FIELDS: Final = [{"name": "userId", "type": "int64"}, {"name": "at", "type": "timestamp[ms]"}]
ROWS: Final[dict[str, Any]] = {"value": {"json": {"fields": FIELDS}}, "output": {"parquet": {}, "partitionBy": BY_DAY}}


def manifest(*, table: Mapping[str, Any] | None = None, **spec: Any) -> LogPersister:
    known = {"format": "hive", "name": "Lake.{topic}", "catalog": {"type": "hive", "uri": "thrift://none:9083"}}
    changes = {
        "metadata.name": GROUP,
        "spec.storage": {"bucket": "logs", "prefix": "raw"},
        "spec.table": known | dict(table or {}),
    }
    return accepted(changes | {f"spec.{block}": said for block, said in (ROWS | spec).items()})


@dataclass
class FakeMetastore:
    """Keeps tables and partitions; each call may fail, before or after its effect."""

    tables: dict[tuple[str, str], StoredTable] = field(default_factory=dict)
    registered: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Locations by values."""
    refused: set[tuple[str, ...]] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda _: None
    after: Callable[[str], None] = lambda _: None
    scheme: str = "s3a"

    def table(self, database: str, name: str) -> StoredTable | None:
        self._call("table")
        return self.tables.get((database, name))

    def create_database(self, database: str) -> None:
        self._call("create_database")

    def create(
        self, database: str, name: str, columns: HiveColumns, location: str, parameters: Mapping[str, str]
    ) -> None:
        self._call("create")
        partitions = tuple((one, "string") for one in columns.folders)
        made = StoredTable(dict(columns.files), partitions, location, columns.classes.input, parameters, None)
        self.tables.setdefault((database, name), made)
        self.after("create")

    def change(self, database: str, name: str, columns: Sequence[Column], parameters: Mapping[str, str]) -> None:
        self._call("change")
        found = self.tables[database, name]
        self.tables[database, name] = replace(
            found, columns={**found.columns, **dict(columns)}, parameters={**found.parameters, **parameters}
        )
        self.after("change")

    def add_partitions(self, database: str, name: str, table: StoredTable, partitions: Sequence[Partition]) -> None:
        self._call("add_partitions")
        for one in partitions:
            if one.values in self.refused:
                raise TableError("refused", f"{one.values} is too long")
            self.registered.setdefault(one.values, f"{table.location}/{one.path}")
        self.after("add_partitions")

    def partitions(self, database: str, name: str) -> Iterator[tuple[str, ...]]:
        self._call("partitions")
        yield from list(self.registered)

    def _call(self, name: str) -> None:
        self.calls.append(name)
        self.before(name)


def topic_of(resource: LogPersister, metastore: FakeMetastore) -> RegisteredTopic:
    """Return the topic with its table in a metastore."""
    assert resource.spec.table is not None
    of = topic_opener(resource, resource.spec.table, Secrets({}))(TOPIC)
    return replace(of, table=table_of(of.table, metastore))


def table_of(table: HiveTable, metastore: FakeMetastore) -> HiveTable:
    return replace(table, metastore=metastore, pause=lambda _: None)
