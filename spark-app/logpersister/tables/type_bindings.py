"""Field ids of the tables of types: `tables.bindings`, for all types of a topic.

A topic begins when each type has its numbers, or is known to have no table that takes its columns. The latter is a
matter of one type, which must not hold up the others: its records are stored all the same, in files that are in no
table, until the table or the schema was mended. Then the topic has another revision. A catalog that is away is a matter
of all types, so the topic waits, as one without types does.
"""

import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

import structlog

from logpersister.aside import Threads
from logpersister.backoff import Backoff
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import Revision, resource_of
from logpersister.manifest.revisions.table_binding import TableBinding, with_tables
from logpersister.storage.names import table_key
from logpersister.storage.store import ObjectStore
from logpersister.tables.bindings import EnsuredTable, read_note
from logpersister.tables.columns import TableColumns, table_columns
from logpersister.tables.errors import TableError

log = structlog.get_logger(__name__)

AT_ONCE: Final = 8
ALONE_SECONDS: Final = 600.0
"""Seconds after which another table is asked for, to tell a table that does not answer from a catalog that is away."""
_OF_THE_CATALOG: Final = ("unavailable", "unauthorized", "conflict")
_BACKOFF: Final = Backoff(1.0, 60.0)


@dataclass(slots=True)
class _Type:
    """What is known of the table of one type, for one revision of a topic."""

    binding: TableBinding | None = None
    answer: "Future[TableBinding] | None" = None
    failures: int = 0
    retry_at: float = float("-inf")
    error: Exception | None = None
    failing_since: float = 0.0
    refused: bool = False
    """Whether its records are stored without a table for now."""


@dataclass(slots=True)
class _Asked:
    """What is known of the tables of one revision of a topic."""

    types: dict[str, _Type]
    notes: Mapping[str, str]
    """Key of the note in the bucket, by type."""
    columns: Mapping[str, TableColumns]
    generation: int
    bound: Revision | None = None
    """Revision with the bindings of all types that are not refused."""
    told: set[str] = field(default_factory=set)


class TypeBindings:
    """The bindings that this member knows. For one thread at a time."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        name_of: Callable[[str, int, str], str],
        open_table: Callable[[str, int, str], EnsuredTable[TableColumns]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Know nothing yet.

        Args:
            open_table: gives that table; called only where there is no note, in a thread of its own.
        """
        self._store = store
        self._group = group
        self._name_of = name_of
        self._open_table = open_table
        self._clock = clock
        self._topics: dict[str, tuple[str, _Asked]] = {}
        """Present revision and what is known of it, by topic."""
        self._errors: dict[str, Exception] = {}
        self._threads = Threads(AT_ONCE, "table-columns")

    def bound(self, topic: str, revision: Revision) -> Revision | None:
        """Return the revision with its tables; None: they are not known yet, and the topic has to wait."""
        known = self._topics.get(topic)
        if known is None or known[0] != revision.hash:
            try:
                known = self._topics[topic] = revision.hash, self._begin(topic, resource_of(revision.document))
            except TableError as error:
                self._errors[topic] = error
                return None
        asked = known[1]
        changed = [self._turn(topic, name, asked, state) for name, state in asked.types.items()]
        if any(changed) or asked.bound is None:
            asked.bound = _with_tables(revision, asked)
        return asked.bound

    def take_errors(self) -> dict[str, Exception]:
        """Return by topic what went wrong since the last call, where the topic waits."""
        errors, self._errors = self._errors, {}
        return errors

    @property
    def refused(self) -> set[str]:
        """Topics that wait for a person: none does for a type."""
        return set()

    def without_table(self, topic: str) -> Mapping[str, str]:
        """Return the types of a topic that are stored without their tables, and why. From any thread."""
        known = self._topics.get(topic)
        if known is None:
            return {}
        return {
            name: f"type {name} is stored without its table: {state.error}"
            for name, state in list(known[1].types.items())
            if state.refused
        }

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, topic: str, resource: LogPersister) -> _Asked:
        """Say what is asked. Raises `TableError` where the columns of a type cannot be those of any table."""
        spec = resource.spec
        of_types = {
            name: table_columns(resource.model_copy(update={"spec": one}))
            for name, one in spec.tables_of_types().items()
        }
        notes = {
            name: table_key(
                self._store.prefix,
                self._group,
                topic,
                spec.generation,
                columns.digest(self._name_of(topic, spec.generation, name)),
            )
            for name, columns in of_types.items()
        }
        return _Asked({name: _Type() for name in of_types}, notes, of_types, spec.generation)

    def _turn(self, topic: str, name: str, asked: _Asked, state: _Type) -> bool:
        """Ask for a type, or take its answer; return whether that changes what is known."""
        if state.binding is not None:
            return False
        if state.answer is None:
            now = self._clock()
            if now >= state.retry_at:
                lasts = state.error is not None and now - state.failing_since >= ALONE_SECONDS
                state.answer = self._threads.submit(self._ask_beside if lasts else self._ask, topic, name, asked)
            return False
        if not state.answer.done():
            return False
        answer, state.answer = state.answer, None
        try:
            state.binding, state.error, was_refused, state.refused = answer.result(), None, state.refused, False
        except Exception as error:  # noqa: BLE001 - whatever it is, only this type is concerned
            return self._take_error(topic, name, asked, state, error)
        log.info("table.bound", topic=topic, type=name, table=state.binding.table, again=was_refused)
        return True

    def _take_error(self, topic: str, name: str, asked: _Asked, state: _Type, error: Exception) -> bool:
        now = self._clock()
        state.failures += 1
        state.failing_since = now if state.error is None else state.failing_since
        state.error = error
        state.retry_at = now + _BACKOFF.pause(state.failures) * random.uniform(0.9, 1.1)
        if not isinstance(error, TableError) or error.reason in _OF_THE_CATALOG:
            if not state.refused:
                self._errors[topic] = error
            return False
        if not state.refused or name not in asked.told:
            asked.told.add(name)
            log.error("table.refused", topic=topic, type=name, error=str(error))
        was_refused, state.refused = state.refused, True
        return not was_refused

    def _ask_beside(self, topic: str, name: str, asked: _Asked) -> TableBinding:
        """Do the same as `_ask`; where it fails and the catalog gives another table of the topic, only this one fails.

        Raises `TableError` or StorageError.
        """
        try:
            return self._ask(topic, name, asked)
        except Exception as error:
            other = next((one for one, state in asked.types.items() if state.binding is not None), None)
            if other is None:
                raise
            self._open_table(topic, asked.generation, other).ensure(asked.columns[other])
            raise TableError("schema", f"{error} (and the catalog answers for others)") from error

    def _ask(self, topic: str, name: str, asked: _Asked) -> TableBinding:
        """Return what the note of a type says, or give its table the columns and write the note.

        Raises `TableError` or StorageError.
        """
        key = asked.notes[name]
        noted = self._store.get_json(key)
        if noted is not None:
            return read_note(key, noted)
        binding = self._open_table(topic, asked.generation, name).ensure(asked.columns[name])
        written = self._store.put_json(key, binding.document(), if_absent=True)
        if not written.existing:
            return binding
        return read_note(key, self._store.get_json(key) or binding.document())  # two at once: the first note counts


def _with_tables(revision: Revision, asked: _Asked) -> Revision | None:
    if any(state.binding is None and not state.refused for state in asked.types.values()):
        return asked.bound  # a type that was refused, and whose catalog is away now, changes nothing
    bindings = {name: state.binding for name, state in asked.types.items() if state.binding is not None}
    return with_tables(revision.document, bindings) if bindings else revision
