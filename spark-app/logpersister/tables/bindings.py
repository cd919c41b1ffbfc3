"""Field ids of tables: taken from the catalog once, and noted in the bucket.

A revision can promise ranges for a table only when the table has its columns. Who needs them first creates or widens
the table and puts a note beside the other documents of the group; all others read the note. So the catalog is asked
when columns are new, and not when a member starts: storing does not depend on it.

A topic has one table, or one for each of its types, and begins when each has its numbers or is left out. Records of a
table that is left out are stored all the same, in files that are in no table:

- The table of a topic is left out as long as its name is that of somebody else's: nothing of the topic can be in that
  table, so no receipt is missing there. For everything else the topic waits.
- The table of a type is left out whenever it does not take the columns: that is a matter of one type, which must not
  hold up the others. A catalog that is away is a matter of all types, so the topic waits.

The catalog and the bucket are asked in threads of their own, because the cycle waits for nobody, and notes wait for no
catalog. Meanwhile the topic waits.
"""

import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

import structlog

from logpersister.aside import Threads
from logpersister.backoff import Backoff
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import Revision, resource_of
from logpersister.manifest.revisions.table_binding import TableBinding, with_table, with_tables
from logpersister.storage.names import table_key
from logpersister.storage.notes import Notes
from logpersister.storage.receipts import NO_TYPE
from logpersister.storage.store import ObjectStore
from logpersister.tables.errors import TableError

log = structlog.get_logger(__name__)

AT_ONCE: Final = 8
ALONE_SECONDS: Final = 600.0
"""Seconds after which another table is asked for, to tell a table that does not answer from a catalog that is away."""
_OF_THE_CATALOG: Final = ("unavailable", "unauthorized", "conflict")
_BACKOFF: Final = Backoff(1.0, 60.0)


class Columns(Protocol):
    """Required columns of a table (`tables.columns.TableColumns`)."""

    def digest(self, table: str) -> str: ...


OfTable = TypeVar("OfTable", bound=Columns)
Taken_contra = TypeVar("Taken_contra", bound=Columns, contravariant=True)


class EnsuredTable(Protocol[Taken_contra]):
    """A table that can be given columns (`tables.catalog.IcebergTable`)."""

    @property
    def name(self) -> str: ...

    def ensure(self, columns: Taken_contra) -> TableBinding: ...


_NOTES: Final = Notes(TableBinding, "the note of a table")


@dataclass(slots=True)
class _Table:
    binding: TableBinding | None = None
    answer: "Future[TableBinding | None] | None" = None
    """Answer of the bucket, which is None where there is no note, or of the catalog."""
    failures: int = 0
    retry_at: float = float("-inf")
    error: Exception | None = None
    failing_since: float = 0.0
    is_left_out: bool = False


@dataclass(slots=True)
class _Asked(Generic[OfTable]):
    revision: Revision
    generation: int
    columns: Mapping[str, OfTable]
    tables: Mapping[str, _Table]
    """Tables by type; `NO_TYPE` of a topic without types."""
    problem: TableError | None = None
    """Why columns cannot be those of any table; then the topic waits for a person."""
    bound: Revision | None = None
    """Revision with the bindings of all tables that are not left out."""


class Bindings(Generic[OfTable]):
    """The bindings that this member knows. For one thread at a time."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        name_of: Callable[[str, int, str], str],
        open_table: Callable[[str, int, str], EnsuredTable[OfTable]],
        columns_of: Callable[[LogPersister], Mapping[str, OfTable]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Know nothing yet.

        Args:
            name_of: gives the name of the table of a topic, a generation and a type.
            open_table: gives that table; called only where there is no note, in a thread of its own.
            columns_of: gives by type the columns that files of a resource need. Raises `TableError`.
        """
        self._store = store
        self._group = group
        self._name_of = name_of
        self._open_table = open_table
        self._columns_of = columns_of
        self._clock = clock
        self._topics: dict[str, _Asked[OfTable]] = {}
        self._errors: dict[str, Exception] = {}
        self._of_bucket = Threads(AT_ONCE, "table-notes")
        self._of_catalog = Threads(AT_ONCE, "table-columns")

    def bound(self, topic: str, revision: Revision) -> Revision | None:
        """Return the revision with its tables; None: they are not known yet, and the topic has to wait."""
        asked = self._topics.get(topic)
        if asked is None or asked.revision.hash != revision.hash:
            asked = self._topics[topic] = self._begin(revision)
        changed = [self._turn(topic, type_, asked, table) for type_, table in asked.tables.items()]
        if any(changed) or asked.bound is None:
            asked.bound = _with_tables(asked)
        return asked.bound

    def columns(self, topic: str) -> OfTable | None:
        """Return the columns that a topic needs of its table, from any thread; None: they were not asked for yet."""
        asked = self._topics.get(topic)
        return None if asked is None else asked.columns.get(NO_TYPE)

    def without_table(self, topic: str) -> Mapping[str, str]:
        """Return the types of a topic that are stored without their tables, and why. From any thread."""
        asked = self._topics.get(topic)
        return {
            type_: str(table.error) if type_ == NO_TYPE else f"type {type_} is stored without its table: {table.error}"
            for type_, table in (asked.tables.items() if asked is not None else ())
            if table.is_left_out
        }

    def take_errors(self) -> dict[str, Exception]:
        """Return by topic what went wrong since the last call, where the topic waits."""
        errors, self._errors = self._errors, {}
        return errors

    @property
    def refused(self) -> set[str]:
        """Topics whose table cannot have their columns, or is not there: they wait for a person."""
        tables = ((topic, table) for topic, asked in self._topics.items() for table in asked.tables.values())
        return {
            topic
            for topic, table in tables
            if isinstance(table.error, TableError) and not table.error.retriable and not table.is_left_out
        }

    def close(self) -> None:
        for threads in (self._of_bucket, self._of_catalog):
            threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, revision: Revision) -> _Asked[OfTable]:
        resource = resource_of(revision.document)
        generation = resource.spec.generation
        try:
            columns = self._columns_of(resource)
        except TableError as error:
            return _Asked(revision, generation, {}, {NO_TYPE: _Table()}, error)
        return _Asked(revision, generation, columns, {type_: _Table() for type_ in columns})

    def _turn(self, topic: str, type_: str, asked: _Asked[OfTable], table: _Table) -> bool:
        if table.binding is not None:
            return False
        now = self._clock()
        if table.answer is None:
            if now >= table.retry_at:
                table.answer = self._of_bucket.submit(self._noted, topic, type_, asked)
            return False
        if not table.answer.done():
            return False
        answer, table.answer = table.answer, None
        try:
            binding = answer.result()
        except Exception as error:  # noqa: BLE001 - whatever it is, only this table is concerned
            return self._take_error(topic, type_, table, error)
        if binding is None:
            lasts = table.error is not None and now - table.failing_since >= ALONE_SECONDS
            table.answer = self._of_catalog.submit(self._made_beside if lasts else self._made, topic, type_, asked)
            return False
        table.binding, table.error, table.is_left_out = binding, None, False
        log.info("table.bound", topic=topic, table=binding.table, revision=asked.revision.hash)
        return True

    def _take_error(self, topic: str, type_: str, table: _Table, error: Exception) -> bool:
        now = self._clock()
        table.failures += 1
        table.failing_since = now if table.error is None else table.failing_since
        table.error = error
        table.retry_at = now + _BACKOFF.pause(table.failures) * random.uniform(0.9, 1.1)
        if table.is_left_out:
            return False
        if not _concerns_the_table(type_, error):
            self._errors[topic] = error
            return False
        table.is_left_out = True
        log.error("table.refused", topic=topic, error=str(error))
        return True

    def _noted(self, topic: str, type_: str, asked: _Asked[OfTable]) -> TableBinding | None:
        """Return what the note says; None: there is none. Raises `TableError` or StorageError."""
        if asked.problem is not None:
            raise asked.problem
        key = self._key(topic, type_, asked)
        noted = self._store.get_json(key)
        return None if noted is None else _NOTES.parsed(key, noted)

    def _made_beside(self, topic: str, type_: str, asked: _Asked[OfTable]) -> TableBinding:
        """Do the same as `_made`; where it fails and the catalog gives another table of the topic, only this one fails.

        Raises `TableError` or StorageError.
        """
        try:
            return self._made(topic, type_, asked)
        except Exception as error:
            other = next((one for one, table in asked.tables.items() if table.binding is not None), None)
            if other is None:
                raise
            self._open_table(topic, asked.generation, other).ensure(asked.columns[other])
            raise TableError("schema", f"{error} (and the catalog answers for others)") from error

    def _made(self, topic: str, type_: str, asked: _Asked[OfTable]) -> TableBinding:
        """Give the table the columns, and write the note. Raises `TableError` or StorageError."""
        key = self._key(topic, type_, asked)
        binding = self._open_table(topic, asked.generation, type_).ensure(asked.columns[type_])
        written = self._store.put_json(key, binding.document(), if_absent=True)
        if not written.existing:
            return binding
        return _NOTES.parsed(key, self._store.get_json(key) or binding.document())  # two at once: the first note counts

    def _key(self, topic: str, type_: str, asked: _Asked[OfTable]) -> str:
        digest = asked.columns[type_].digest(self._name_of(topic, asked.generation, type_))
        return table_key(self._store.prefix, self._group, topic, asked.generation, digest)


def _concerns_the_table(type_: str, error: Exception) -> bool:
    """Whether records are stored without the table because of an error; else the topic waits."""
    if not isinstance(error, TableError):
        return False
    return error.reason == "other-owner" if type_ == NO_TYPE else error.reason not in _OF_THE_CATALOG


def _with_tables(asked: _Asked[Any]) -> Revision | None:
    if any(table.binding is None and not table.is_left_out for table in asked.tables.values()):
        return None
    bindings = {type_: table.binding for type_, table in asked.tables.items() if table.binding is not None}
    document = asked.revision.document
    if NO_TYPE in bindings:
        return with_table(document, bindings[NO_TYPE])
    return with_tables(document, bindings) if bindings else asked.revision
