"""Receipts: what a stored range leaves for the tables of its topic or types: its objects and their statistics.

A receipt is put when the objects of its range are there, and before the offset moves over them. So whatever is before a
committed offset and was promised for a table has one. Name and content depend on range, records and revision only, as
those of objects do: whoever executes the range again puts the same receipt. It names each table of its revision, also
those of which it has no rows, and is deleted once all of these hold its range (docs/design/tables.md).

Receipts of replays are *kept* in a folder of their own, beside those of the ranges that a switch has taken out of a
table: what a table may get by a switch (docs/design/replay.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from logpersister.manifest.blocks.event_types import ONLY_TYPE
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.names import notes_prefix, parse_receipt_file, receipt_key, receipts_folder
from logpersister.storage.notes import Notes, written
from logpersister.storage.store import ObjectStore

READING_THREADS: Final = 8
NO_TYPE: Final = ONLY_TYPE
"""Stands for the table of a topic without types; no type has this name."""


class ReceiptName(NamedTuple):
    """Parts of a receipt's name."""

    generation: int
    partition: int
    start: Offset


@dataclass(frozen=True, slots=True)
class TableFile:
    """An object as a table has it."""

    key: str
    bytes: int
    records: int
    """Rows; at least one."""
    partition: tuple[str | None, ...]
    """The values of its folders, outermost first; None: null."""
    columns: Mapping[str, Mapping[str, Any]]
    """Statistics by field id, as text (`formats.parquet.statistics`)."""
    splits: tuple[int, ...]
    """Begins of its row groups."""


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The objects of a range that are files of one table."""

    table: str
    """UUID of the table."""
    schema_id: int
    spec_id: int
    files: tuple[TableFile, ...]
    """A range without rows has none, and leaves that for the table of a topic without types."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Receipt of one range."""

    range: Range
    topic_id: str | None
    generation: int
    revision: str
    tables: Mapping[str, TableFiles]
    """Files by the folder value of their type; `NO_TYPE` where the topic has no types."""
    without: tuple[str, ...] = ()
    """Types with tables of which the range has no rows."""

    @property
    def name(self) -> ReceiptName:
        return ReceiptName(self.generation, self.range.partition.partition, self.range.start)

    def document(self) -> dict[str, Any]:
        document = written(self)
        of_types: dict[str, dict[str, Any]] = document.pop("tables")
        if NO_TYPE in of_types:
            return document | of_types[NO_TYPE]
        return document | {"types": of_types, "without": sorted(self.without)}


_NOTES: Final = Notes(Receipt, "a receipt")


def put_receipt(
    store: ObjectStore, group: str, receipt: Receipt, *, if_absent: bool = False, kept: bool = False
) -> None:
    """Store a receipt; the same again replaces itself. Raises StorageError."""
    key = receipt_key(store.prefix, group, receipt.range.partition, receipt.generation, receipt.range.start, kept=kept)
    store.put_json(key, receipt.document(), if_absent=if_absent)


def list_receipts(
    store: ObjectStore, group: str, topic: str, *, kept: bool = False
) -> Iterator[tuple[ReceiptName, datetime]]:
    """Yield the receipts of a topic, and when each was put last. Raises StorageError."""
    prefix = notes_prefix(store.prefix, group, receipts_folder(kept=kept), topic)
    for listed in store.list_objects(prefix):
        found = parse_receipt_file(listed.key.removeprefix(prefix))
        if found is not None:
            yield ReceiptName(*found), listed.last_modified


def read_receipts(
    store: ObjectStore, group: str, topic: str, names: Sequence[ReceiptName], *, kept: bool = False
) -> list[Receipt]:
    """Return receipts, side by side; those that have gone meanwhile are missing. Raises StorageError."""
    with ThreadPoolExecutor(READING_THREADS, thread_name_prefix="receipts") as threads:
        found = threads.map(lambda name: _read(store, group, topic, name, kept=kept), names)
        return [receipt for receipt in found if receipt is not None]


def delete_receipts(store: ObjectStore, group: str, topic: str, names: Sequence[ReceiptName]) -> None:
    """Delete receipts; those that are not there are fine. Raises StorageError."""
    store.delete_all([_key(store, group, topic, name) for name in names])


def _key(store: ObjectStore, group: str, topic: str, name: ReceiptName, *, kept: bool = False) -> str:
    of = TopicPartition(topic, name.partition)
    return receipt_key(store.prefix, group, of, name.generation, name.start, kept=kept)


def _read(store: ObjectStore, group: str, topic: str, name: ReceiptName, *, kept: bool) -> Receipt | None:
    key = _key(store, group, topic, name, kept=kept)
    document = store.get_json(key)
    if document is None:
        return None
    tables = document.get("types", {NO_TYPE: document})
    receipt = _NOTES.parsed(key, document | {"tables": tables})
    if receipt.name != name or receipt.range.partition.topic != topic:
        raise StorageError("damaged", f"object {key!r} is the receipt of {receipt.range}; somebody has renamed it")
    return receipt
