"""Field ids of topic tables: taken from the catalog once, and noted in the bucket.

A revision can promise ranges for a table only when the table has its columns. Who needs them first creates or widens
the table and puts a note beside the other documents of the group; all others read the note. So the catalog is asked
when columns are new, and not when a member starts: storing does not depend on it.

A topic whose table has the name of somebody else's is stored without a table meanwhile: nothing of it can be in that
table, so no receipt is missing there. When it gets a table, that begins with the next range.

The catalog and the bucket are asked in a thread each, because the cycle waits for nobody, and notes wait for no
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
from logpersister.manifest.revisions.table_binding import TableBinding, parse_binding, with_table
from logpersister.storage.errors import StorageError
from logpersister.storage.names import table_key
from logpersister.storage.receipts import NO_TYPE
from logpersister.storage.store import ObjectStore
from logpersister.tables.errors import TableError

log = structlog.get_logger(__name__)

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


@dataclass(slots=True)
class _Asked:
    answer: "Future[TableBinding | None] | None" = None
    """None: there is no note."""
    failures: int = 0
    retry_at: float = float("-inf")
    refused: bool = False
    taken: str = ""
    """Why the name of the table cannot be ours; empty: it can, as far as is known."""


class Bindings(Generic[OfTable]):
    """The bindings that this member knows. For one thread at a time."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        name_of: Callable[[str, int], str],
        open_table: Callable[[str, int], EnsuredTable[OfTable]],
        columns_of: Callable[[LogPersister], OfTable],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Know nothing yet.

        Args:
            open_table: gives that table; called only where there is no note, in a thread of its own.
            columns_of: gives the columns that files of a resource need. Raises `TableError`.
        """
        self._store = store
        self._group = group
        self._name_of = name_of
        self._open_table = open_table
        self._columns_of = columns_of
        self._clock = clock
        self._known: dict[tuple[str, str], TableBinding] = {}
        """Bindings by topic and revision: topics that share a revision have tables of their own."""
        self._asked: dict[tuple[str, str], _Asked] = {}
        self._errors: dict[str, Exception] = {}
        self._columns: dict[str, OfTable] = {}
        self._of_bucket = Threads(1, "table-notes")
        self._of_catalog = Threads(1, "table-columns")

    def bound(self, topic: str, revision: Revision) -> Revision | None:
        """Return the revision with its table; None: that is not known yet, and the topic has to wait."""
        binding = self.binding(topic, revision.hash, revision.document)
        if binding is not None:
            return with_table(revision.document, binding)
        asked = self._asked.get((topic, revision.hash))
        return revision if asked is not None and asked.taken else None

    def without_table(self, topic: str) -> Mapping[str, str]:
        """Return why a topic is stored without its table, if it is. From any thread."""
        for (name, _), asked in list(self._asked.items()):
            if name == topic and asked.taken:
                return {NO_TYPE: asked.taken}
        return {}

    def binding(self, topic: str, revision: str, document: Mapping[str, Any]) -> TableBinding | None:
        """Return the binding for a revision of a topic; None: it is not known yet, and the topic has to wait."""
        known = self._known.get((topic, revision))
        if known is not None:
            return known
        if (topic, revision) not in self._asked:  # a topic has one revision at a time: the one before was refused
            self._asked = {of: asked for of, asked in self._asked.items() if of[0] != topic}
        asked = self._asked.setdefault((topic, revision), _Asked())
        if asked.answer is None:
            if self._clock() >= asked.retry_at:
                asked.answer = self._of_bucket.submit(self._noted, topic, document)
        elif asked.answer.done():
            self._take(topic, revision, document, asked, asked.answer)
        return self._known.get((topic, revision))

    def columns(self, topic: str) -> OfTable | None:
        """Return the columns that a topic needs of its table, from any thread; None: they were not asked for yet."""
        return self._columns.get(topic)

    def take_errors(self) -> dict[str, Exception]:
        """Return by topic what went wrong since the last call."""
        errors, self._errors = self._errors, {}
        return errors

    @property
    def refused(self) -> set[str]:
        """Topics whose table cannot have their columns, or is not there: they wait for a person."""
        return {topic for (topic, _), asked in self._asked.items() if asked.refused}

    def close(self) -> None:
        for threads in (self._of_bucket, self._of_catalog):
            threads.shutdown(wait=False, cancel_futures=True)

    def _take(
        self,
        topic: str,
        revision: str,
        document: Mapping[str, Any],
        asked: _Asked,
        answer: "Future[TableBinding | None]",
    ) -> None:
        asked.answer = None
        try:
            binding = answer.result()
        except Exception as error:  # noqa: BLE001 - whatever it is, only this topic waits
            asked.failures += 1
            if isinstance(error, TableError) and error.reason == "other-owner" and asked.taken != str(error):
                asked.taken = str(error)
                log.error("table.refused", topic=topic, error=str(error))  # noqa: TRY400 - the message says all of it
            asked.refused = isinstance(error, TableError) and not error.retriable and not asked.taken
            asked.retry_at = self._clock() + _BACKOFF.pause(asked.failures) * random.uniform(0.9, 1.1)
            if not asked.taken:
                self._errors[topic] = error
            return
        if binding is None:
            asked.answer = self._of_catalog.submit(self._made, topic, document)
            return
        self._known[topic, revision] = binding
        del self._asked[topic, revision]
        log.info("table.bound", topic=topic, table=binding.table, revision=revision)

    def _noted(self, topic: str, document: Mapping[str, Any]) -> TableBinding | None:
        """Return what the note says; None: there is none. Raises `TableError` or StorageError."""
        key, _, _ = self._note(topic, document)
        noted = self._store.get_json(key)
        return None if noted is None else read_note(key, noted)

    def _made(self, topic: str, document: Mapping[str, Any]) -> TableBinding:
        """Give the table the columns, and write the note. Raises `TableError` or StorageError."""
        key, columns, generation = self._note(topic, document)
        binding = self._open_table(topic, generation).ensure(columns)
        written = self._store.put_json(key, binding.document(), if_absent=True)
        if not written.existing:
            return binding
        return read_note(key, self._store.get_json(key) or binding.document())  # two at once: the first note counts

    def _note(self, topic: str, document: Mapping[str, Any]) -> tuple[str, OfTable, int]:
        """Return the key of the note, and what it is about. Raises `TableError`."""
        resource = resource_of(document)
        columns, generation = self._columns_of(resource), resource.spec.generation
        self._columns[topic] = columns
        digest = columns.digest(self._name_of(topic, generation))
        return table_key(self._store.prefix, self._group, topic, generation, digest), columns, generation


def read_note(key: str, noted: Mapping[str, Any]) -> TableBinding:
    try:
        return parse_binding(noted)
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError("damaged", f"object {key!r} is no note of a table ({error}); see who changed it") from None
