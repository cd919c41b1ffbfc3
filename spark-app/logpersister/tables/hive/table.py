"""The Hive table of a topic: made, given columns, given partitions. Everything may be repeated, by anybody."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.revisions.table_binding import TableBinding
from logpersister.tables.errors import TableError
from logpersister.tables.hive.columns import HiveColumns
from logpersister.tables.hive.folders import Partition
from logpersister.tables.hive.metastore import Column, Metastore, StoredTable

AT_ONCE: Final = 100
"""Partitions that one request adds; Glue takes no more."""
MOST_ATTEMPTS: Final = 5
"""Each is one more than others have changed the table at the same moment."""
REGISTERED: Final = "logpersister.registered"
"""Property of a table: when folders become partitions. It is there once all are that were there before."""


@dataclass(frozen=True, slots=True)
class HiveTable:
    """Hive table of one topic."""

    metastore: Metastore
    spec: TableSpec
    identifier: tuple[str, ...]
    folder: str
    """Folder of the topic, without scheme and without slash at its end: ``bucket/prefix/topic``."""
    pause: Callable[[float], None] = time.sleep

    @property
    def name(self) -> str:
        return ".".join(self.identifier)

    def ensure(self, columns: HiveColumns) -> TableBinding:
        """Create the table, or give it the columns that it lacks. Raises `TableError`.

        Metastores have no compare-and-set: who changes the table at the same moment may take columns away again. So it
        is looked at once more, and `duty` does this again and again.
        """
        for attempt in range(MOST_ATTEMPTS):
            with self._told():
                table = self.find() or self._created(columns)
                missing = self._missing(table, columns)
                if not missing:
                    return TableBinding(self.name, "", 0, 0, columns.folders, {})
                if attempt:
                    self.pause(0.2 * attempt)
                try:
                    self.metastore.change(*self._identifier, missing, {})
                except TableError as error:
                    if error.reason != "conflict":
                        raise
        raise TableError("conflict", f"table {self.name}: others change it again and again")

    def find(self) -> StoredTable | None:
        """Return the table as it is; None: it is not there. Raises `TableError`."""
        with self._told():
            found = self.metastore.table(*self._identifier)
            if found is not None:
                self._check_place(found)
            return found

    def load(self, columns: HiveColumns | None) -> StoredTable:
        """Return the table; create it with the columns if it was dropped. Raises `TableError`.

        None: which columns it should have is not known now.
        """
        with self._told():
            table = self.find()
            if table is None and columns is not None:
                table = self._created(columns)
            if table is None:
                raise self._absent("it is created with the next records of the topic, or create it")
            return table

    def add(self, table: StoredTable, partitions: Sequence[Partition]) -> Mapping[Partition, str]:
        """Add partitions; return those that are refused, with the reason. Raises `TableError`: others were not added.

        One that is refused keeps none of its batch away.
        """
        refused: dict[Partition, str] = {}
        for begin in range(0, len(partitions), AT_ONCE):
            batch = partitions[begin : begin + AT_ONCE]
            with self._told():
                reason = self._refusal(table, batch)
                if reason is not None and len(batch) == 1:
                    refused[batch[0]] = reason
                elif reason is not None:
                    reasons = ((one, self._refusal(table, [one])) for one in batch)
                    refused |= {one: reason for one, reason in reasons if reason is not None}
        return refused

    def partitions(self) -> Iterator[tuple[str, ...]]:
        """Yield the values of each partition. Raises `TableError`."""
        with self._told():
            yield from self.metastore.partitions(*self._identifier)

    def set_registered(self, when: str) -> None:
        """Note that all folders are partitions that were there. Raises `TableError`."""
        with self._told():
            self.metastore.change(*self._identifier, [], {REGISTERED: when})

    @property
    def _identifier(self) -> tuple[str, str]:
        database, name = self.identifier
        return database, name

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except TableError as error:
            if self.name in str(error):
                raise
            raise TableError(error.reason, f"table {self.name}: {error}") from error

    def _absent(self, remedy: str) -> TableError:
        return TableError("no-table", f"table {self.name} is not in the metastore; {remedy}")

    def _created(self, columns: HiveColumns) -> StoredTable:
        if not self.spec.create:
            raise self._absent("create it over the folder of the topic (docs/hive.md)")
        database, name = self._identifier
        self.metastore.create_database(database)
        location = f"{self.metastore.scheme}://{self.folder}"
        self.metastore.create(database, name, columns, location, self.spec.properties)
        table = self.metastore.table(database, name)
        if table is None:
            raise TableError("conflict", f"table {self.name} was dropped while it was created")
        return table

    def _check_place(self, table: StoredTable) -> None:
        """Raise unless the table is over the folder of the topic. Schemes differ between engines."""
        folder = table.location.partition("://")[2].rstrip("/")
        if folder != self.folder:
            raise TableError(
                "location",
                f"table {self.name} is over {table.location}, and the topic is stored below {self.folder}; name "
                "another table, or alter its location",
            )

    def _missing(self, table: StoredTable, columns: HiveColumns) -> Sequence[Column]:
        if table.input_format != columns.classes.input:
            raise TableError(
                "file-format",
                f"table {self.name} has the input format {table.input_format}, and files are read by "
                f"{columns.classes.input}; drop the table (its objects stay), or name another one",
            )
        by = [(name.lower(), _plain(type_)) for name, type_ in table.partition_columns]
        if by != [(name, "string") for name in columns.folders]:
            has = ", ".join(f"{name} {type_}" for name, type_ in by)
            raise TableError(
                "partition-spec",
                f"table {self.name} is partitioned by ({has}), and folders by ({', '.join(columns.folders)}), each "
                "a string; drop the table (its objects stay), or name another one",
            )
        for name, type_ in columns.files:
            known = table.columns.get(name)
            if known is not None and _plain(known) != _plain(type_):
                raise TableError(
                    "schema",
                    f"table {self.name} has column {name} as {known}, and files have {type_}; members only add some: "
                    f"ALTER TABLE {self.name} CHANGE COLUMN {name} {name} {type_}, if its engines read both, or change "
                    "the schema back",
                )
        return [(name, type_) for name, type_ in columns.files if name not in table.columns]

    def _refusal(self, table: StoredTable, partitions: Sequence[Partition]) -> str | None:
        try:
            self.metastore.add_partitions(*self._identifier, table, partitions)
        except TableError as error:
            if error.reason != "refused":
                raise
            return str(error)
        return None


def _plain(type_: str) -> str:
    return "".join(type_.lower().split())
