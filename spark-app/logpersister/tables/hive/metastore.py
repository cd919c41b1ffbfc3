"""Interface of metastores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from logpersister.tables.hive.columns import HiveColumns
from logpersister.tables.hive.folders import Partition

Column = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table as the metastore had it."""

    columns: Mapping[str, str]
    """Types by name, in lower case, those of partitions aside."""
    partition_columns: tuple[Column, ...]
    location: str
    input_format: str
    parameters: Mapping[str, str]
    own: Any
    """The whole, as the client has it."""


class Metastore(Protocol):
    """A client. Thread-safe; each call raises `TableError` (`unavailable`, `unauthorized`, `refused`, `conflict`)."""

    @property
    def scheme(self) -> str:
        """How the addresses of objects begin for the engines that use it."""

    def table(self, database: str, name: str) -> StoredTable | None:
        """Return a table; None: there is none of this name."""

    def create_database(self, database: str) -> None:
        """Create a database; one that is there is fine."""

    def create(
        self, database: str, name: str, columns: HiveColumns, location: str, parameters: Mapping[str, str]
    ) -> None:
        """Create an external table; one that is there is fine."""

    def change(self, database: str, name: str, columns: Sequence[Column], parameters: Mapping[str, str]) -> None:
        """Add columns, for partitions that are there, too, and set parameters."""

    def add_partitions(self, database: str, name: str, table: StoredTable, partitions: Sequence[Partition]) -> None:
        """Add partitions, all or some of them; those that are there are fine."""

    def partitions(self, database: str, name: str) -> Iterator[tuple[str, ...]]:
        """Yield the values of each partition."""
