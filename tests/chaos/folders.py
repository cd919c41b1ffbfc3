"""Finished folders: what was seen while members worked, and whether each was finished in time, with all its records.

The judge goes by the records that Kafka has, by what the manifests of folders have said at each moment, and by offsets
that were committed *after* a folder was seen to be finished: what is committed only grows.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.chaos.check import Layout, Problem, Seen, Stored, TopicPartition

MINUTE_MS = 60_000
_GROWTH_MS = 60_000
"""How long members may take to see a partition that was added."""
_FOLDER = re.compile(r"(?:type=[^/]+/)?dt=(\d{4}-\d\d-\d\d)/hr=(\d\d)/min=(\d\d)")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A manifest of a folder, as it was read at some moment."""

    folder: str
    document: Mapping[str, Any]

    @property
    def number(self) -> int:
        return int(self.document["number"])

    @property
    def names(self) -> set[str]:
        """Of the objects that it lists."""
        return {one["name"] for one in self.document["objects"]}


@dataclass(frozen=True, slots=True)
class Success:
    """A folder's `_SUCCESS`, when it was seen first."""

    folder: str
    at: float
    """Milliseconds since the epoch."""
    committed: Mapping[int, int]
    """By partition, as asked afterwards; empty if nobody answered."""


@dataclass
class Folders:
    """Everything that was seen of the finished folders of a topic."""

    topic: str
    lateness_ms: int
    sightings: list[Sighting] = field(default_factory=list)
    """In the order in which they were read."""
    successes: dict[str, Success] = field(default_factory=dict)
    done: dict[str, set[int]] = field(default_factory=dict)
    """By folder: partitions with a `.N.done`."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """Folders with what was wrong with a manifest that is none."""

    @property
    def late_records(self) -> int:
        """How many came into folders that were finished, by their last manifests."""
        return sum({one.folder: int(one.document["lateRecords"]) for one in self.sightings}.values())


def end_of(folder: str) -> int:
    """Return when the time of a folder is over, in milliseconds since the epoch."""
    found = _FOLDER.fullmatch(folder)
    assert found is not None, folder
    begin = datetime.fromisoformat(f"{found[1]}T{found[2]}:{found[3]}:00").replace(tzinfo=UTC)
    return round(begin.timestamp() * 1000) + MINUTE_MS


def is_of_time(path: str) -> bool:
    """Whether a folder is one that is finished: neither quarantine nor below the folder of late records."""
    return _FOLDER.fullmatch(path) is not None


def passes_at(records: Sequence[Seen], instant: int) -> int | None:
    """Return the offset at which a partition passes an instant; None: it has not come that far."""
    return next((record.offset for record in records if record.timestamp >= instant), None)


def due(topic: str, kafka: Mapping[TopicPartition, Sequence[Seen]], layout: Layout, lateness_ms: int) -> set[str]:
    """Return the folders that all partitions have passed: they are to be finished once everything is stored."""
    partitions = [records for of, records in kafka.items() if of[0] == topic]
    folders = {layout.path(record) for records in partitions for record in records}
    newest = min(max((record.timestamp for record in records), default=0) for records in partitions)
    return {one for one in folders if one is not None and is_of_time(one) and end_of(one) + lateness_ms <= newest}


def examine(
    seen: Folders,
    kafka: Mapping[TopicPartition, Sequence[Seen]],
    objects: Sequence[Stored],
    layout: Layout,
    *,
    grown: Mapping[TopicPartition, float] | None = None,
) -> list[Problem]:
    """Return every way in which folders were finished early, late, twice, or without a record.

    Args:
        seen: what was seen meanwhile, and once more at the end.
        kafka: the records of all partitions.
        objects: those of the bucket at the end.
        layout: says which records belong into which folder.
        grown: when partitions were added, in milliseconds since the epoch.
    """
    return list(_Examination(seen, kafka, objects, layout, grown or {}).problems())


class _Examination:
    def __init__(
        self,
        seen: Folders,
        kafka: Mapping[TopicPartition, Sequence[Seen]],
        objects: Sequence[Stored],
        layout: Layout,
        grown: Mapping[TopicPartition, float],
    ) -> None:
        self._seen = seen
        self._kafka = {of[1]: records for of, records in kafka.items() if of[0] == seen.topic}
        self._objects = {one.name.partition(f"/{seen.topic}/")[2]: one for one in objects if one.topic == seen.topic}
        self._grown = {of[1]: at for of, at in grown.items() if of[0] == seen.topic}
        self._due = due(seen.topic, kafka, layout, seen.lateness_ms)
        self._offsets: dict[str, dict[int, list[int]]] = {}
        """By folder and partition: of the records that belong there."""
        for partition, records in self._kafka.items():
            for record in records:
                path = layout.path(record)
                if path is not None and is_of_time(path):
                    self._offsets.setdefault(path, {}).setdefault(partition, []).append(record.offset)

    def problems(self) -> Iterator[Problem]:
        for folder, why in self._seen.unreadable:
            yield Problem("unreadable", folder, f"its manifest is none: {why}")
        by_folder: dict[str, list[Sighting]] = {}
        for sighting in self._seen.sightings:
            by_folder.setdefault(sighting.folder, []).append(sighting)
        for folder in sorted(self._due - self._seen.successes.keys()):
            yield Problem("unfinished", folder, "all partitions have passed it, and it has no _SUCCESS")
        for folder in sorted(self._seen.successes.keys() | by_folder.keys()):
            yield from self._numbers(folder, by_folder.get(folder, []))
            yield from self._early(folder, by_folder.get(folder, []))
        for folder, success in sorted(self._seen.successes.items()):
            yield from self._success(folder, success, by_folder.get(folder, []))

    def _numbers(self, folder: str, sightings: Sequence[Sighting]) -> Iterator[Problem]:
        contents: dict[int, Mapping[str, Any]] = {}
        last = 0
        for one in sightings:
            if one.number < last:
                yield Problem("number", folder, f"number {one.number} came behind {last}")
            last = max(last, one.number)
            if contents.setdefault(one.number, one.document) != one.document:
                yield Problem("number", folder, f"number {one.number} has two contents")
        for number, document in sorted(contents.items()):
            yield from self._content(folder, number, document)
        if len(contents) > 1:
            first, final = contents[min(contents)], contents[max(contents)]
            late = final["lateRecords"] - first["lateRecords"]
            if late != final["records"] - first["records"]:
                came = final["records"] - first["records"]
                yield Problem("late", folder, f"{came} records came late, and lateRecords has risen by {late}")

    def _content(self, folder: str, number: int, document: Mapping[str, Any]) -> Iterator[Problem]:
        """Whether a content lists objects that there are, with every record before its offsets."""
        held: Counter[tuple[int, int]] = Counter()
        for listed in document["objects"]:
            one = self._objects.get(f"{folder}/{listed['name']}")
            where = f"{folder} number {number}"
            if one is None:
                yield Problem("content", where, f"lists {listed['name']}, which is not there")
                continue
            if len(one.rows) != listed["records"]:
                yield Problem("content", where, f"says {listed['records']} records of {one.name}: {len(one.rows)}")
            held.update((one.partition, row.offset or 0) for row in one.rows)
        wanted = {
            (int(partition), offset)
            for partition, end in document["offsets"].items()
            for offset in self._offsets.get(folder, {}).get(int(partition), ())
            if offset < end
        }
        if lacking := sorted(wanted - held.keys()):
            yield Problem("content", f"{folder} number {number}", f"lacks {len(lacking)} records, such as {lacking[0]}")
        if document["records"] != held.total():
            message = f"says {document['records']} records, and its objects have {held.total()}"
            yield Problem("content", f"{folder} number {number}", message)

    def _early(self, folder: str, sightings: Sequence[Sighting]) -> Iterator[Problem]:
        """Whether the offsets of the first content lie behind the folder's end in every partition."""
        if sightings:
            first = min(sightings, key=lambda one: one.number)
            offsets = {int(partition): end for partition, end in first.document["offsets"].items()}
            yield from self._behind_the_end(folder, offsets, "by its manifest", also_unknown=True)

    def _success(self, folder: str, success: Success, sightings: Sequence[Sighting]) -> Iterator[Problem]:
        if success.at < end_of(folder) + self._seen.lateness_ms:
            yield Problem("early", folder, "was finished before its time was over by the clock")
        if success.committed:
            yield from self._behind_the_end(folder, success.committed, "by what was committed then")
        if not sightings:
            yield Problem("number", folder, "has a _SUCCESS and no manifest")
            return
        missing = sightings[0].document["offsets"].keys() - set(map(str, self._seen.done.get(folder, ())))
        if missing:
            yield Problem("done", folder, f"has a _SUCCESS, and none for partitions {sorted(missing)}")
        final = max(sightings, key=lambda one: one.number).document
        every = sum(len(offsets) for offsets in self._offsets.get(folder, {}).values())
        if final["records"] != every:
            yield Problem("content", folder, f"its last manifest has {final['records']} of its {every} records")

    def _behind_the_end(
        self, folder: str, offsets: Mapping[int, int], by: str, *, also_unknown: bool = False
    ) -> Iterator[Problem]:
        instant = end_of(folder) + self._seen.lateness_ms
        success = self._seen.successes.get(folder)
        at = success.at if success is not None else 0.0
        for partition, records in sorted(self._kafka.items()):
            grown = self._grown.get(partition)
            if grown is not None and at < grown + _GROWTH_MS:
                continue  # nobody had to know of it
            passes = passes_at(records, instant)
            stands = offsets.get(partition)
            if stands is None and not also_unknown:
                continue
            if stands is None or passes is None or stands < passes:
                message = f"partition {partition} passes it at offset {passes}, and stood at {stands} {by}"
                yield Problem("early", folder, message)
