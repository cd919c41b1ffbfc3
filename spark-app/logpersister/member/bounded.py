"""A replay as a member: a group of its own stores known ranges of offsets again, in a generation of its own.

To the decisions of a member a replay is a log that begins and ends where the replay does. So ranges are promised,
executed and committed as always, and a crash is nothing special (docs/design/replay.md).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import NoReturn

import pyarrow as pa

from logpersister.backup.part import BackupPart
from logpersister.backup.ranges import PartitionBackup
from logpersister.group.answers import Answer, TopicDescription
from logpersister.member.ports import Jobs, Offsets
from logpersister.pipeline.reader import ReadRequest
from logpersister.pipeline.source import Reading, ReplaySource
from logpersister.pipeline.splitting import joined
from logpersister.pipeline.work import RangeOutcome, RangeWork, TaskSpec
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.records.schema import RECORDS
from logpersister.report.facts import ReplayProgress


@dataclass(frozen=True, slots=True)
class Replay:
    """Offsets that a replay stores, and where their records come from."""

    group_id: str
    """Consumer group of the replay, whose committed offsets are its progress. Objects name that of the manifest."""
    bounds: Mapping[TopicPartition, Range]
    """What is stored; nothing of other partitions."""
    source: ReplaySource
    backup: Mapping[TopicPartition, PartitionBackup] | None = None
    """What the backup has; None: there is none."""

    cuts: Mapping[TopicPartition, Sequence[Offset]] = field(default_factory=dict)
    """Offsets at which ranges end, whatever their size, by rising offset: other replays begin or end there."""

    def cut_behind(self, partition: TopicPartition, position: Offset) -> Offset | None:
        """Return the next offset behind a position at which a range has to end; None: there is none."""
        return next((offset for offset in self.cuts.get(partition, ()) if offset > position), None)

    def part(self, range_: Range) -> BackupPart | None:
        """Return what the backup has of a range."""
        return None if self.backup is None else BackupPart.of(self.backup.get(range_.partition), range_)

    def progress(self, positions: Mapping[TopicPartition, Offset]) -> ReplayProgress:
        """Return how much of the replay is stored, by the positions of this member's partitions."""
        stored = (min(positions[p], it.end) - it.start for p, it in self.bounds.items() if p in positions)
        return ReplayProgress(sum(it.end - it.start for it in self.bounds.values()), sum(max(0, one) for one in stored))

    def begin_at(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Offset | None]:
        """Return where partitions begin; where nothing is stored, that does not matter."""
        return {p: self.bounds[p].start if p in self.bounds else 0 for p in partitions}


class BoundedLog:
    """Kafka's topics, whose partitions begin and end where a replay does: the port `Offsets`."""

    def __init__(self, offsets: Offsets, replay: Replay) -> None:
        self._offsets = offsets
        self._replay = replay

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        bounds = self._replay.bounds
        return Answer({p: bounds[p].start if p in bounds else 0 for p in partitions})

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        bounds = self._replay.bounds
        return Answer({p: bounds[p].end if p in bounds else 0 for p in partitions})

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        return self._offsets.first_since(timestamps)

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        return self._offsets.describe(topics)

    def topics_matching(self, matches: Callable[[str], bool]) -> list[str]:
        return self._offsets.topics_matching(matches)


class SourcedJobs:
    """Spark, whose tasks read from the source of a replay: the port `Jobs`."""

    def __init__(self, jobs: Jobs, replay: Replay) -> None:
        self._jobs = jobs
        self._replay = replay

    @property
    def cores(self) -> int:
        return self._jobs.cores

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[list[RangeOutcome]]":
        return self._jobs.submit([self._sourced(task) for task in tasks])

    def _sourced(self, task: TaskSpec) -> TaskSpec:
        parts = tuple(replace(part, work=tuple(map(self._with_backup, part.work))) for part in task.parts)
        return replace(task, parts=parts, source=self._replay.source.shared_by(self.cores))

    def _with_backup(self, work: RangeWork) -> RangeWork:
        return replace(work, backup=self._replay.part(work.range))


class SourceSampling:
    """First records from a source: the port `member.sampling.Sampling`."""

    def __init__(self, reading: Reading, replay: Replay) -> None:
        self._reading = reading
        self._replay = replay

    def sample(self, partition: TopicPartition, start: Offset, max_bytes: int) -> pa.RecordBatch:
        """Return records from ``start`` on, about ``max_bytes`` of them; no rows where the replay has none."""
        found: list[pa.RecordBatch] = []
        range_ = Range(partition, start, self._replay.bounds[partition].end)
        request = ReadRequest(range_, max_bytes, backup=self._replay.part(range_))
        for read in self._reading.read([request]):
            for batch in read.batches():
                found.append(batch)
                if sum(one.nbytes for one in found) >= max_bytes:
                    break
        return joined(found) if found else pa.RecordBatch.from_pylist([], schema=RECORDS)

    def sample_verbatim(self, partition: TopicPartition, start: Offset, max_bytes: int) -> NoReturn:
        """Refuse: no replay stores record batches as they are."""
        raise NotImplementedError(f"{partition} from {start}: {max_bytes} bytes of record batches")
