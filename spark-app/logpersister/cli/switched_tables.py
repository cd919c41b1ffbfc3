"""Tables of topics that ``logpersister switch`` switches: what may be refused is asked before any is changed."""

from collections.abc import Iterator
from contextlib import contextmanager

from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.tables import printable
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.secrets import Secrets
from logpersister.member.tables import table_opener
from logpersister.storage.current import Current
from logpersister.storage.receipts import list_receipts
from logpersister.storage.store import ObjectStore
from logpersister.tables.errors import TableError
from logpersister.tables.exchange import Exchange
from logpersister.tables.switching import TableSwitch


def iceberg_of(resource: LogPersister, topic: str) -> TableSpec | None:
    """Return the Iceberg table of a topic; None: it has none."""
    table = resource.spec.table_of(topic)
    return table if table is not None and table.format == "iceberg" else None


class SwitchedTables:
    """The tables of a manifest."""

    def __init__(self, resource: LogPersister, secrets: Secrets, store: ObjectStore) -> None:
        self._resource, self._store = resource, store
        spec = resource.spec.table
        self._open = None if spec is None else table_opener(resource, spec, secrets)

    def planned(self, topic: str, current: Current) -> list[Exchange]:
        """Return what a switch does to the tables of a topic. Raises CommandError where it cannot be done."""
        if iceberg_of(self._resource, topic) is None:
            self._check_without(topic)
        with _told(topic):
            return [one.planned(current) for one in self._switches(topic)]

    def switch(self, topic: str, current: Current) -> list[Exchange]:
        """Have the tables of a topic show what is to count; return what was done. Raises CommandError."""
        with _told(topic):
            return [one.switch(current) for one in self._switches(topic)]

    def _switches(self, topic: str) -> Iterator[TableSwitch]:
        if self._open is None or iceberg_of(self._resource, topic) is None:
            return
        for type_ in self._resource.spec.for_topic(topic).tables_of_types():
            table = self._open(topic, self._resource.spec.generation, type_)
            yield TableSwitch(self._store, self._resource.group_id, topic, type_, table)

    def _check_without(self, topic: str) -> None:
        """Raise for a topic without a table here, of which a replay has rows for one."""
        if next(list_receipts(self._store, self._resource.group_id, topic, kept=True), None) is not None:
            raise CommandError(
                f"topic {printable(topic)}: the replay has rows for a table, and the manifest names none; switch with "
                "the manifest that has spec.table",
                Exit.INVALID,
            )


@contextmanager
def _told(topic: str) -> Iterator[None]:
    try:
        yield
    except TableError as error:
        told = f"topic {printable(topic)}: {error}"
        if error.is_of_catalog:
            raise UnreachableError(told) from None
        raise CommandError(told, Exit.FAILED) from None
