"""Compares the partitions of a Hive table with the folders that have objects. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from logpersister.ranges import TopicPartition
from logpersister.tables.hive.folders import Partition
from logpersister.verify.evidence import StoredObject
from logpersister.verify.findings import Finding, Kind


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
