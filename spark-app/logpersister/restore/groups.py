"""Offsets of consumer groups, from where they were to where the same records are now."""

import csv
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logpersister.ranges import Offset, TopicPartition
from logpersister.restore.offset_table import OffsetMap
from logpersister.restore.plan import RestoreError

_EXPECTED: Final = "expected group,topic,partition,offset, as in billing,clicks,0,51204"
Offsets = Mapping[TopicPartition, Offset]


@dataclass(frozen=True, slots=True)
class MovedOffset:
    """Offset of a group in one partition."""

    group: str
    source: TopicPartition
    target: TopicPartition
    old: Offset
    new: Offset
    is_ahead: bool
    """Whether the group had read more than the backup has."""


def moved(
    groups: Mapping[str, Offsets],
    maps: Mapping[TopicPartition, OffsetMap],
    targets: Mapping[TopicPartition, TopicPartition],
    ends: Offsets,
) -> Iterator[MovedOffset]:
    """Yield where groups go on, by partition.

    Args:
        groups: committed offsets of each group.
        maps: old and new offsets, of all partitions that are restored.
        targets: partition of the target by that of the backup.
        ends: where the backup ends; none where it has nothing.
    """
    for group, offsets in sorted(groups.items()):
        for source, old in sorted(offsets.items()):
            if source in targets:
                new, end = maps[source].new(old), ends.get(source)
                yield MovedOffset(group, source, targets[source], old, new, is_ahead=end is not None and old > end)


def read_groups(file: Path) -> dict[str, dict[TopicPartition, Offset]]:
    """Read ``group,topic,partition,offset`` lines, as ``kafka-consumer-groups --export`` writes them.

    Raises RestoreError.
    """
    found: defaultdict[str, dict[TopicPartition, Offset]] = defaultdict(dict)
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise RestoreError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise RestoreError(f"{file}: is not text (UTF-8); {_EXPECTED}") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            group, partition, old = _parsed(line, f"{file}:{number}")
            found[group][partition] = old
    return dict(found)


def _parsed(line: str, where: str) -> tuple[str, TopicPartition, Offset]:
    with suppress(ValueError, csv.Error):
        [(group, topic, partition, offset)] = csv.reader([line])
        place, old = int(partition), int(offset)
        if place >= 0 and old >= 0:
            return group, TopicPartition(topic, place), old
    raise RestoreError(f"{where}: {_EXPECTED}")


def of_topics(groups: Mapping[str, Offsets], topics: Collection[str]) -> dict[str, Offsets]:
    """Return the offsets in these topics, of those groups that have some."""
    own = {
        group: {one: old for one, old in offsets.items() if one.topic in topics} for group, offsets in groups.items()
    }
    return {group: offsets for group, offsets in own.items() if offsets}


def to_set(
    moves: Iterable[MovedOffset], there: Mapping[str, Offsets]
) -> tuple[dict[str, dict[TopicPartition, Offset]], Sequence[MovedOffset]]:
    """Return the offsets that are to be set, and those that are not because the group has gone on there already."""
    wanted: defaultdict[str, dict[TopicPartition, Offset]] = defaultdict(dict)
    kept = []
    for one in moves:
        if one.target in there.get(one.group, {}):
            kept.append(one)
        else:
            wanted[one.group][one.target] = one.new
    return dict(wanted), kept
