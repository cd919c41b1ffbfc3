"""Records of a backup: where they go, and why they must not. Pure.

The records of a partition get the offsets from 0 on in the target. So its end offset says how many of them are there,
and a restore goes on behind them: nothing else remembers how far it came.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from logpersister.backup.listing import TopicBackup
from logpersister.backup.ranges import Piece
from logpersister.ranges import Offset, Range, TopicPartition

CREATE_TIME = "CreateTime"


class RestoreError(Exception):
    """What cannot be restored; the message says why, and what can be done."""


@dataclass(frozen=True, slots=True)
class TargetTopic:
    """A topic that is to get records."""

    partitions: int
    timestamp_type: str | None
    """Kafka's ``message.timestamp.type``; None: this user may not know it."""
    spans: Mapping[TopicPartition, tuple[Offset, Offset]]
    """First offset and end of each partition."""
    retention: str | None = None
    """Settings by which Kafka deletes old records; None: it keeps them, or this user may not know."""
    is_compacted: bool = False
    """Whether Kafka keeps only the last record of each key, as far as this user may know."""


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What a partition of the target gets."""

    source: TopicPartition
    target: TopicPartition
    pieces: tuple[Piece, ...]
    """By rising offsets, without holes; empty where the backup has nothing."""
    stored: int
    """How many records are there already."""

    @property
    def counted(self) -> int:
        """Number of all records; of objects that are read in part, the most that it can be."""
        return sum(min(piece.object.records, piece.range.offsets) for piece in self.pieces)


def plan(topic: str, backup: TopicBackup, target_name: str, target: TargetTopic | None) -> list[PartitionPlan]:
    """Return what each partition gets; None: the target is made with as many partitions.

    Raises:
        RestoreError: the backup lacks records, or the target cannot take them as they were.
    """
    if not backup.partitions:
        raise RestoreError(
            f"{topic}: the backup has no object of it; logpersister ls lists its topics, see also groupId and prefix"
        )
    problems = [
        *_holes(backup),
        *_flaws(backup),
        *(() if target is None else _unfit(target_name, backup.partition_count, target)),
    ]
    if problems:
        raise RestoreError("\n".join(problems))
    plans = []
    for number in range(backup.partition_count):
        source, there = TopicPartition(topic, number), TopicPartition(target_name, number)
        pieces = backup.partitions[source].pieces if source in backup.partitions else ()
        plans.append(PartitionPlan(source, there, pieces, 0 if target is None else target.spans[there][1]))
    if target is not None and target.retention is not None and any(one.stored < one.counted for one in plans):
        raise RestoreError(
            f"topic {target_name} of the target has {target.retention}: Kafka would delete old records while they are "
            "restored; set -1 until all is restored"
        )
    return plans


def deleted(partition: TopicPartition, start: Offset) -> str | None:
    """Return why a partition of the target that begins at an offset does not have all records; None: it may."""
    if start == 0:
        return None
    return (
        f"{partition} of the target begins at offset {start}: Kafka has deleted the records before it, and restore "
        "does not produce them again. Make the topic anew, with retention.ms=-1 and retention.bytes=-1 until all is "
        "restored"
    )


def _holes(backup: TopicBackup) -> Iterator[str]:
    for found in backup.partitions.values():
        for hole in found.holes:
            yield (
                f"{hole}: no object of the backup has these offsets, and no note says why; bring the object back "
                "(bucket versions), or store the range again in a higher generation while Kafka has it"
            )


def _flaws(backup: TopicBackup) -> Iterator[str]:
    for found in backup.partitions.values():
        for piece in found.pieces:
            if piece.object.flaw is not None:
                yield f"{piece.range}: object {piece.object.key!r} does not have its records: {piece.object.flaw}"


def _unfit(name: str, partitions: int, target: TargetTopic) -> Iterator[str]:
    if target.partitions != partitions:
        yield (
            f"topic {name} of the target has {target.partitions} partitions, the backup has {partitions}: keys "
            "would be in others than producers put them into; make it anew, or let restore make it"
        )
        return
    if target.timestamp_type not in (None, CREATE_TIME):
        yield (
            f"topic {name} of the target has message.timestamp.type={target.timestamp_type}, so records would lose "
            f"their times; set {CREATE_TIME}"
        )
    yield from filter(None, (deleted(partition, start) for partition, (start, _) in sorted(target.spans.items())))


def lost(backups: Iterable[TopicBackup]) -> list[Range]:
    """Return the offsets that the group had lost before it stored them, which are nowhere."""
    return [range_ for backup in backups for found in backup.partitions.values() for range_ in found.lost]
