"""What a stored range leaves for the table of its topic: its objects, with all that a table says of them.

A receipt is put when the objects of its range are there, and before the offset moves over them. So whatever is before a
committed offset and was promised for a table has one. Name and content depend on range, records and revision only, as
those of objects do: whoever executes the range again puts the same receipt. It is deleted once the table has its rows
(docs/design/tables.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.names import parse_receipt_key, receipt_key, receipts_prefix
from logpersister.storage.store import ObjectStore

READING_THREADS: Final = 8


class ReceiptName(NamedTuple):
    """What the name of a receipt says."""

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
    """By field id, as text: `formats.parquet_statistics`."""
    splits: tuple[int, ...]
    """Where its row groups begin."""

    def document(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "bytes": self.bytes,
            "records": self.records,
            "partition": list(self.partition),
            "columns": {number: dict(one) for number, one in self.columns.items()},
            "splits": list(self.splits),
        }


@dataclass(frozen=True, slots=True)
class Receipt:
    """Of one range."""

    range: Range
    topic_id: str | None
    generation: int
    revision: str
    table: str
    """UUID of the table whose files the objects are."""
    schema_id: int
    spec_id: int
    files: tuple[TableFile, ...]
    """None for a range without rows, which has a receipt all the same."""

    @property
    def name(self) -> ReceiptName:
        return ReceiptName(self.generation, self.range.partition.partition, self.range.start)

    def document(self) -> dict[str, Any]:
        return {
            "topic": self.range.partition.topic,
            "topicId": self.topic_id,
            "partition": self.range.partition.partition,
            "generation": self.generation,
            "start": self.range.start,
            "end": self.range.end,
            "revision": self.revision,
            "table": self.table,
            "schemaId": self.schema_id,
            "specId": self.spec_id,
            "files": [one.document() for one in self.files],
        }


def put_receipt(store: ObjectStore, group: str, receipt: Receipt, *, if_absent: bool = False) -> None:
    """Store a receipt; the same again replaces itself. Raises StorageError."""
    key = receipt_key(store.prefix, group, receipt.range.partition, receipt.generation, receipt.range.start)
    store.put_json(key, receipt.document(), if_absent=if_absent)


def list_receipts(store: ObjectStore, group: str, topic: str) -> Iterator[ReceiptName]:
    """Yield the receipts of a topic. Raises StorageError."""
    for listed in store.list_objects(receipts_prefix(store.prefix, group, topic)):
        found = parse_receipt_key(store.prefix, group, topic, listed.key)
        if found is not None:
            yield ReceiptName(*found)


def read_receipts(store: ObjectStore, group: str, topic: str, names: Sequence[ReceiptName]) -> list[Receipt]:
    """Return receipts, side by side; those that have gone meanwhile are missing. Raises StorageError."""
    with ThreadPoolExecutor(READING_THREADS, thread_name_prefix="receipts") as threads:
        found = threads.map(lambda name: _read(store, group, topic, name), names)
        return [receipt for receipt in found if receipt is not None]


def delete_receipts(store: ObjectStore, group: str, topic: str, names: Sequence[ReceiptName]) -> None:
    """Delete receipts; those that are not there are fine. Raises StorageError."""
    store.delete_all([_key(store, group, topic, name) for name in names])


def _key(store: ObjectStore, group: str, topic: str, name: ReceiptName) -> str:
    return receipt_key(store.prefix, group, TopicPartition(topic, name.partition), name.generation, name.start)


def _read(store: ObjectStore, group: str, topic: str, name: ReceiptName) -> Receipt | None:
    key = _key(store, group, topic, name)
    document = store.get_json(key)
    if document is None:
        return None
    try:
        receipt = _parsed(document)
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError("damaged", f"object {key!r} is no receipt ({error}); see who changed it") from None
    if receipt.name != name or receipt.range.partition.topic != topic:
        raise StorageError("damaged", f"object {key!r} is the receipt of {receipt.range}; somebody has renamed it")
    return receipt


def _parsed(document: Mapping[str, Any]) -> Receipt:
    partition = TopicPartition(str(document["topic"]), int(document["partition"]))
    return Receipt(
        Range(partition, int(document["start"]), int(document["end"])),
        None if document["topicId"] is None else str(document["topicId"]),
        int(document["generation"]),
        str(document["revision"]),
        str(document["table"]),
        int(document["schemaId"]),
        int(document["specId"]),
        tuple(_file(one) for one in document["files"]),
    )


def _file(document: Mapping[str, Any]) -> TableFile:
    return TableFile(
        str(document["key"]),
        int(document["bytes"]),
        int(document["records"]),
        tuple(None if value is None else str(value) for value in document["partition"]),
        {str(number): dict(one) for number, one in document["columns"].items()},
        tuple(int(start) for start in document["splits"]),
    )
