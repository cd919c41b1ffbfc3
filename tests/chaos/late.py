"""Late records that stand apart: which they are, and whether they had come late.

Which process knew what when it promised a range is not to be seen from outside. So a record counts as apart where it
stands apart, and the other judges then ask for each record once, in its place. This one asks whether that was right:
its folder was finished before its range was promised. A range begins at or behind what was committed then.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tests.chaos.check import Layout, Problem, Seen, Stored, TopicPartition
from tests.chaos.contents import LATE_FOLDER, QUARANTINE
from tests.chaos.folders import Folders, end_of, is_of_time, passes_at
from tests.chaos.minutes import MinuteFolders

Kafka = Mapping[TopicPartition, Sequence[Seen]]
_SURELY_MS: Final = 60_000
"""When every member knows of a finished folder, if the bucket answers (docs/finish.md)."""
_MANY: Final = 20


def apart(kafka: Kafka, objects: Sequence[Stored]) -> dict[TopicPartition, list[Seen]]:
    """Return the records, with those marked that stand apart in some object."""
    found: dict[TopicPartition, set[int]] = {}
    late_rows = {one: {record.if_late for record in records} for one, records in kafka.items()}
    for stored in objects:
        if stored.path.startswith(f"{LATE_FOLDER}/"):
            offsets = [row.offset for row in stored.rows]
        elif stored.path == QUARANTINE:
            offsets = [row.offset for row in stored.rows if row.value in late_rows.get(stored.of, ())]
        else:
            continue
        found.setdefault(stored.of, set()).update(offset for offset in offsets if offset is not None)
    return {
        of: [record._replace(is_apart=record.offset in found.get(of, ())) for record in records]
        for of, records in kafka.items()
    }


def examine(
    seen: Folders,
    kafka: Kafka,
    objects: Sequence[Stored],
    layout: MinuteFolders,
    *,
    grown: Mapping[TopicPartition, float],
) -> Iterator[Problem]:
    """Yield records that stand apart and were not late, ranges of which one folder is in two places, and too few.

    Args:
        seen: of the finished folders.
        kafka: the records, as `apart` returns them.
        objects: those of the bucket.
        layout: that of the group.
        grown: partitions that were added: nobody waits for them at first, and their old records are late.
    """
    places: dict[tuple[TopicPartition, int, str], str] = {}
    by_offset = {(of, record.offset): record for of, records in kafka.items() for record in records}
    for stored in (one for one in objects if one.topic == seen.topic):
        for offset in {row.offset for row in stored.rows}:
            record = by_offset.get((stored.of, -1 if offset is None else offset))
            if record is None or record.place in (None, QUARANTINE):
                continue
            folder = layout.folder(record)
            if places.setdefault((stored.of, stored.start, folder), stored.path) != stored.path:
                yield Problem("late", stored.name, f"and another object of its range both have records of {folder}")
                break
            if record.is_apart and (why := _was_not_late(seen, kafka, stored, folder, grown)):
                yield Problem("late", stored.name, f"has offset {record.offset} of {folder}, and {why}")
                break
    sure, kept_apart = surely_late(seen, kafka, layout)
    if sure >= _MANY and kept_apart < sure / 2:
        yield Problem("late", seen.topic, f"{sure} records came long after their folder, and {kept_apart} stand apart")


def _was_not_late(
    seen: Folders, kafka: Kafka, stored: Stored, folder: str, grown: Mapping[TopicPartition, float]
) -> str | None:
    """Return why a record of an object cannot have been late when its range was promised; None: it can."""
    instant = end_of(folder) + seen.lateness_ms
    for of, records in kafka.items():
        if of[0] != seen.topic or of in grown:
            continue
        passes = passes_at(records, instant)
        if passes is None:
            return f"partition {of[1]} has never passed it"
        if of == stored.of and passes > stored.start:
            return f"its range begins at {stored.start}, before its partition passes the folder at {passes}"
    return None


def surely_late(seen: Folders, kafka: Kafka, layout: Layout) -> tuple[int, int]:
    """Return how many records came when everybody knew that their folder is finished, and how many of them are apart.

    Kafka's times are those of producers, which are never ahead: what comes behind a record came after its time.
    """
    sure = kept_apart = 0
    for of, records in kafka.items():
        if of[0] != seen.topic:
            continue
        newest = 0
        for record in records:
            path = layout.path(record._replace(is_apart=False))
            if path is not None and is_of_time(path) and (success := seen.successes.get(path)) is not None:
                is_sure = newest > success.at + _SURELY_MS
                sure += is_sure
                kept_apart += is_sure and record.is_apart
            newest = max(newest, record.timestamp)
    return sure, kept_apart
