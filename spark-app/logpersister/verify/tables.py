"""Compares a table with the objects of its topic or type: each file that has rows once among its live files. Pure.

Objects are compared with Kafka record by record (`verify.deep`), so what is one of them once has each of its records in
one row. Other engines may have rewritten files; then rows are compared with records (`verify.table_rows`), or where
they do not say of which record they are, the number of rows.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from logpersister.ranges import TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.storage.names import object_address
from logpersister.storage.receipts import ReceiptName
from logpersister.tables.hive.folders import Partition
from logpersister.tables.offsets import Held, held_to
from logpersister.verify.evidence import StoredObject
from logpersister.verify.findings import Finding, Kind


@dataclass(frozen=True, slots=True)
class TableContent:
    """What a table says of itself, at one moment."""

    table: str
    live: Iterable[tuple[str, int]]
    """Address and rows of each live file; one that is there twice comes twice."""
    held: Held
    receipts: Iterable[ReceiptName]
    """Ranges that wait to be appended."""


def table_findings(
    topic: str,
    objects: Iterable[StoredObject],
    content: TableContent,
    bucket: str,
    is_file: Callable[[str], bool],
    *,
    keeps_tombstones: bool,
    counts_rows: bool = True,
) -> Iterator[Finding]:
    """Yield what is wrong with the files of a table.

    Args:
        is_file: whether objects of a revision are files of the table.
        counts_rows: whether rows are to be counted where files of others are in it.
    """
    live, rows = Counter[str](), 0
    for address, of_file in content.live:
        live[address] += 1
        rows += of_file
    waiting = set(content.receipts)
    expected: dict[str, int] = {}
    absent: list[StoredObject] = []
    for one in objects:
        facts = one.facts
        if facts is None or one.name.path == QUARANTINE or one.name.replay or not is_file(facts.revision):
            continue
        own = facts.records if keeps_tombstones else facts.records - (facts.tombstones or 0)
        holds = held_to(content.held, one.name.generation, facts.topic_id, one.name.partition)
        count = live[object_address(bucket, one.key)]
        if count > 1:
            yield _finding(Kind.TWICE_IN_TABLE, one, f"table {content.table} has it {count} times", one.key)
        if facts.range.end <= holds and own:
            expected[one.key] = own
            if count == 0:
                absent.append(one)
        elif count == 0 and ReceiptName(one.name.generation, one.name.partition, one.name.start) in waiting:
            yield _finding(Kind.NOT_APPENDED, one, f"it waits for the next snapshot of table {content.table}", one.key)
    ours = {object_address(bucket, key) for key in expected}
    if live.keys() <= ours:
        for one in absent:
            yield _finding(Kind.NOT_IN_TABLE, one, f"table {content.table} should have it, and has not", one.key)
    elif counts_rows and rows != sum(expected.values()):
        yield Finding(
            Kind.NOT_IN_TABLE,
            TopicPartition(topic, 0),
            0,
            0,
            f"table {content.table} has {rows} rows, and the objects that it should have, {sum(expected.values())}; "
            "files of others are in it, so that no single one can be named",
        )


def _finding(kind: Kind, one: StoredObject, message: str, key: str) -> Finding:
    partition = TopicPartition(one.name.topic, one.name.partition)
    return Finding(kind, partition, one.name.start, one.claimed_end, message, key, one.name.generation)


@dataclass(frozen=True, slots=True)
class RegisteredPartitions:
    """What a table says, at one moment."""

    table: str
    values: Collection[tuple[str, ...]]
    noted: Collection[str]
    """Paths that wait to be registered."""


def partition_findings(
    topic: str,
    folders: Mapping[Partition, StoredObject],
    registered: RegisteredPartitions,
    *,
    is_due: Callable[[str], bool],
) -> Iterator[Finding]:
    """Yield where folders and partitions differ.

    Args:
        registered: partitions, looked at before the objects were listed.
        is_due: whether the folder of a path should be a partition by now.
    """
    table, there = registered.table, {one.values for one in folders}
    for folder, one in sorted(folders.items(), key=lambda item: item[0]):
        if folder.values in registered.values or not is_due(folder.path):
            continue
        waits = "; it is noted, and will be one" if folder.path in registered.noted else ""
        yield Finding(
            Kind.NOT_REGISTERED,
            TopicPartition(topic, one.name.partition),
            one.name.start,
            one.claimed_end,
            f"folder {folder.path} is no partition of table {table}{waits}",
            one.key,
            one.name.generation,
        )
    for values in sorted(set(registered.values) - there):
        told = f"partition ({', '.join(values)}) of table {table} has no objects"
        yield Finding(Kind.WITHOUT_OBJECTS, TopicPartition(topic, 0), 0, 0, told)
