"""Has a table show another generation of a topic: one snapshot takes files out and puts others in.

The table is loaded before anything is concluded, and one attempt is made, as members append (`tables.appender`). What
is taken out leaves kept receipts first, so that it can be put in again, also when no snapshot has it any more.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from logpersister.storage.asking import ask_each
from logpersister.storage.current import Current
from logpersister.storage.names import ObjectName, object_address, parse_object_key
from logpersister.storage.receipts import (
    Receipt,
    ReceiptName,
    TableFile,
    TableFiles,
    list_receipts,
    put_receipt,
    read_receipts,
)
from logpersister.storage.store import ObjectStore
from logpersister.tables.errors import TableError
from logpersister.tables.exchange import Exchange, LiveFile, check_not_behind, check_receipts, exchange
from logpersister.tables.offsets import Held, TableView, held_by

CONFLICTS: Final = 10
"""Conflicts in a row before the switch is given up: members append each `commitInterval`."""
CONFLICT_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 5.0


class Loaded(Protocol):
    """A table at one moment (`tables.catalog.LoadedTable`)."""

    @property
    def view(self) -> TableView: ...

    def files(self) -> "Sequence[LiveFile]": ...

    def append(
        self, files: Sequence[TableFile], held: Held, removed: Sequence[TableFile] = (), shown: str | None = None
    ) -> None: ...


class Table(Protocol):
    """A table (`tables.catalog.IcebergTable`)."""

    def load(self) -> Loaded: ...


class TableSwitch:
    """Switches one table of a topic. Every method may be repeated, and others may do the same at the same time."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        topic: str,
        type_: str,
        table: Table,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Ask nothing yet; `type_`: that of the topic's types, or `storage.receipts.NO_TYPE`."""
        self._store, self._group, self._topic, self._type, self._table = store, group, topic, type_, table
        self._pause = pause

    def planned(self, current: Current) -> Exchange:
        """Return what a switch does. Raises `TableError` where it cannot be done, and StorageError."""
        return self._plan(self._table.load(), current)

    def switch(self, current: Current) -> Exchange:
        """Have the table show what is to count; return what was done. Raises `TableError` and StorageError."""
        conflicts = 0
        while True:
            loaded = self._table.load()
            plan = self._plan(loaded, current)
            if plan.shown is None:
                return plan
            self._keep(loaded.view, plan.removed)
            try:
                loaded.append(
                    [self._of_key(file) for file in plan.added],
                    held_by(loaded.view),
                    [self._of_key(file) for file in plan.removed],
                    plan.shown,
                )
            except TableError as error:
                conflicts += 1
                if error.reason != "conflict" or conflicts >= CONFLICTS:
                    raise
                pause = min(LONGEST_PAUSE_SECONDS, CONFLICT_SECONDS * 2**conflicts)
                self._pause(pause * random.uniform(0.5, 1.0))
            else:
                return plan

    def _plan(self, loaded: Loaded, current: Current) -> Exchange:
        view = loaded.view
        waiting = [name for name, _ in list_receipts(self._store, self._group, self._topic)]
        check_not_behind(view, held_by(view), current, waiting)
        kept = self._kept([name for name, _ in list_receipts(self._store, self._group, self._topic, kept=True)])
        check_receipts(view.table, current, kept.values(), self._type)
        found = exchange(view, loaded.files, self._candidates(view, kept), current, self._name)
        self._check_objects(view, found.added)
        return found

    def _candidates(self, view: TableView, kept: Mapping[ReceiptName, Receipt]) -> Mapping[str, TableFile]:
        found: dict[str, TableFile] = {}
        for receipt in kept.values():
            of = receipt.tables.get(self._type)
            if of is None:
                continue
            if of.files and (of.table, of.spec_id) != (view.uuid, view.spec_id):
                raise TableError(
                    "other-table",
                    f"table {view.table}: {receipt.range} in generation {receipt.generation} was stored for another "
                    "table of this name, or another partition spec; restore that, or replay in a higher generation",
                )
            for file in of.files:
                address = object_address(self._store.storage.bucket, file.key)
                found[address] = replace(file, key=address)
        return found

    def _check_objects(self, view: TableView, added: Sequence[TableFile]) -> None:
        """Raise `TableError` where an object has gone that the table is to get."""
        if not added:
            return
        there = {listed.key for _, listed in self._store.inventory(self._topic)}
        for file in added:
            if self._key(file.key) not in there:
                raise TableError(
                    "rewritten",
                    f"table {view.table}: object {file.key} has gone, which the table would get: somebody, or the "
                    "expiry of snapshots, has deleted it. Replay these offsets in a higher generation",
                )

    def _keep(self, view: TableView, removed: Sequence[TableFile]) -> None:
        by_range: defaultdict[ReceiptName, list[TableFile]] = defaultdict(list)
        for file in map(self._of_key, removed):
            name = parse_object_key(self._store.prefix, file.key)
            assert name is not None  # files of others are never taken out
            by_range[ReceiptName(name.generation, name.partition, name.start)].append(file)
        before = self._kept(list(by_range))
        missing = {
            name: files
            for name, files in by_range.items()
            if name not in before or self._type not in before[name].tables
        }
        for of, receipt in ask_each(lambda one: (one[0], self._receipt(view, *one)), missing.items()):
            kept = before.get(of, receipt)
            merged = replace(receipt, tables={**kept.tables, **receipt.tables}, without=kept.without)
            put_receipt(self._store, self._group, merged, kept=True)

    def _receipt(self, view: TableView, name: ReceiptName, files: Sequence[TableFile]) -> Receipt:
        facts = self._store.facts(files[0].key)
        if facts is None:
            raise TableError(
                "rewritten",
                f"table {view.table}: object {files[0].key!r} has gone, which the table still has; see logpersister "
                "verify --deep",
            )
        tables = {self._type: TableFiles(view.uuid, 0, view.spec_id, tuple(files))}
        return Receipt(facts.range, facts.topic_id, name.generation, facts.revision, tables)

    def _kept(self, names: Sequence[ReceiptName]) -> Mapping[ReceiptName, Receipt]:
        found = read_receipts(self._store, self._group, self._topic, names, kept=True)
        return {one.name: one for one in found}

    def _name(self, address: str) -> ObjectName | None:
        key = self._key(address)
        found = None if key == address else parse_object_key(self._store.prefix, key)
        return found if found is not None and found.topic == self._topic else None

    def _key(self, address: str) -> str:
        return address.removeprefix(object_address(self._store.storage.bucket, ""))

    def _of_key(self, file: TableFile) -> TableFile:
        return replace(file, key=self._key(file.key))
