"""Verifies topic by topic: gathers the evidence, judges it, asks Kafka about offsets that no object has."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from logpersister.group.answers import Answer, TopicDescription
from logpersister.kafka_client.causes import in_words
from logpersister.plan.intents import CommittedOffset, UnknownMetadataError
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.report.lines import partitions_text
from logpersister.storage.deletions import Deletion
from logpersister.storage.left_out import LeftOutRange
from logpersister.storage.losses import Loss
from logpersister.storage.replayed import ReplayNote
from logpersister.storage.replays import Replay
from logpersister.verify import missing_offsets
from logpersister.verify.deep import DeepVerification
from logpersister.verify.evidence import KafkaView, PartitionEvidence, ReplayedSpan, StoredObject
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.missing_offsets import Reader
from logpersister.verify.replays import NotedReplay
from logpersister.verify.tiling import Examination, examine

Commits = Mapping[TopicPartition, CommittedOffset | UnknownMetadataError | None]


class Offsets(Protocol):
    """`group.offsets.OffsetReader`, as far as it is needed here."""

    def committed(self, partitions: Iterable[TopicPartition]) -> Commits: ...
    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]: ...
    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]: ...
    def describe(self, topics: Iterable[str]) -> Mapping[str, TopicDescription]: ...


@dataclass(frozen=True, slots=True)
class VerifiedGroup:
    """The group as its manifest describes it."""

    group: str
    generation: int
    from_earliest: bool


@dataclass(slots=True)
class TopicResult:
    """What came out for one topic."""

    topic: str
    partitions: int = 0
    objects: int = 0
    """Objects that take part: not those of others."""
    bytes: int = 0
    records: int = 0
    quarantined: int = 0
    """Records that the parser refused; they are among `records`."""
    tombstones: int = 0
    """Records without a value; they are among `records`."""
    compared: int | None = None
    """Records that stand in their objects as Kafka has them; None: objects were not read."""
    findings: list[Finding] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """What could not be asked: the findings are not the whole."""

    begun: int = 0
    """Partitions of which the group has committed an offset or stored an object."""
    pending: int = 0
    """Offsets that are promised and not committed yet: nothing is said of them."""
    table_rows: int | None = None
    """Rows of tables that are what their records in Kafka should be; None: there is no table, or it was not read."""
    readable: dict[int, Range] = field(default_factory=dict)
    """What can be read from Kafka of the topic that is judged, by partition."""

    @property
    def problems(self) -> int:
        return sum(finding.is_problem for finding in self.findings)

    @property
    def notes(self) -> int:
        return len(self.findings) - self.problems


class Verification:
    """Verifies topics; raises what Kafka and the bucket raise where nothing can be said without them."""

    def __init__(
        self,
        group: VerifiedGroup,
        offsets: Offsets,
        reader: Reader,
        stored: Callable[[str], Iterable[StoredObject]],
        losses: Sequence[Loss],
        deep: DeepVerification | None = None,
        replays: Callable[[str], Iterable[Replay]] = lambda _: (),
        prefix: str = "",
        left_out: Callable[[str], Iterable[LeftOutRange]] = lambda _: (),
        omissions: Callable[[str], missing_offsets.Omissions] = lambda _: missing_offsets.Omissions(),
        history: Callable[[str], Iterable[ReplayNote]] = lambda _: (),
        deletions: Callable[[str], Iterable[Deletion]] = lambda _: (),
    ) -> None:
        """Begin.

        Args:
            stored: lists the objects of a topic; it is asked when the committed offsets are known.
            replays: lists the notes of the replays of a topic; it is asked before and after `stored`.
            history: lists the replays of history of a topic; it is asked before `stored`.
            deletions: lists what was deleted of a topic on purpose; it is asked after `stored`.
        """
        self._replays, self._prefix, self._left_out, self._omissions = replays, prefix, left_out, omissions
        self._history, self._deletions = history, deletions
        self._deep = deep
        self._group = group
        self._offsets = offsets
        self._reader = reader
        self._stored = stored
        self._losses: defaultdict[TopicPartition, list[Loss]] = defaultdict(list)
        for loss in losses:
            self._losses[loss.range.partition].append(loss)

    def topic(self, topic: str, partitions: int) -> TopicResult:
        """Verify one topic with so many partitions in Kafka. Holds the facts of its objects in memory."""
        result, omissions = TopicResult(topic), self._omissions(topic)
        for examination in self._examinations(topic, partitions, result):
            result.partitions += 1
            result.begun += examination.has_begun
            result.pending += examination.evidence.pending
            if examination.evidence.readable is not None:
                result.readable[examination.evidence.partition.partition] = examination.evidence.readable
            for one in examination.objects:
                result.objects += 1
                result.bytes += one.size
                if one.facts is not None:
                    result.records += one.facts.records
                    result.tombstones += one.facts.tombstones or 0
                    result.quarantined += one.facts.records if one.name.path == QUARANTINE else 0
            result.findings += examination.findings
            result.findings += missing_offsets.explain(examination, self._reader, omissions)
            if self._deep is not None:
                comparison = self._deep.compare(examination)
                result.findings += comparison.findings
                result.compared = (result.compared or 0) + comparison.compared
        if not result.partitions and not partitions:
            result.errors.append("Kafka has no such topic, and nothing is stored under its name; correct the name")
        result.findings.sort(key=lambda finding: (finding.partition, finding.start, finding.end))
        return result

    def _examinations(self, topic: str, partitions: int, result: TopicResult) -> Iterator[Examination]:
        in_kafka = [TopicPartition(topic, number) for number in range(partitions)]
        # What was committed before the listing must be in it; what is in it was promised before the second look.
        before, replays_before = self._offsets.committed(in_kafka), list(self._replays(topic))
        history = list(self._history(topic))
        objects: defaultdict[TopicPartition, list[StoredObject]] = defaultdict(list)
        for one in self._stored(topic):
            objects[one.name.topic_partition].append(one)
        after = self._offsets.committed(in_kafka)
        replays: defaultdict[TopicPartition, list[NotedReplay]] = defaultdict(list)
        for noted in NotedReplay.of(self._prefix, replays_before, self._replays(topic)):
            replays[noted.replay.source.range.partition].append(noted)
        left_out: defaultdict[TopicPartition, list[LeftOutRange]] = defaultdict(list)
        for note in self._left_out(topic):
            left_out[note.range.partition].append(note)
        deletions = list(self._deletions(topic))
        views = self._views(topic, in_kafka, result)
        for partition in sorted({*in_kafka, *objects}):
            entries = before.get(partition), after.get(partition)
            unreadable = next((one for one in entries if isinstance(one, UnknownMetadataError)), None)
            if unreadable is not None:
                result.errors.append(f"partition {partition.partition}: {unreadable}")
                continue
            if partition in in_kafka and partition not in views:
                continue  # said in the errors
            yield examine(
                PartitionEvidence(
                    partition=partition,
                    group=self._group.group,
                    generation=self._group.generation,
                    before=_known(before.get(partition)),
                    after=_known(after.get(partition)),
                    objects=objects[partition],
                    losses=self._losses[partition],
                    replays=replays[partition],
                    history=tuple(_spans(history, partition)),
                    left_out=left_out[partition],
                    deletions=deletions,
                    kafka=views.get(partition),
                    from_earliest=self._group.from_earliest,
                )
            )

    def _views(
        self, topic: str, partitions: Sequence[TopicPartition], result: TopicResult
    ) -> dict[TopicPartition, KafkaView]:
        if not partitions:
            return {}
        description = self._offsets.describe([topic]).get(topic)
        starts, ends = self._offsets.log_starts(partitions), self._offsets.ends(partitions)
        errors: dict[str, list[TopicPartition]] = {}
        for partition, error in sorted((starts.errors | ends.errors).items()):
            errors.setdefault(in_words(error), []).append(partition)
        if description is None:
            result.errors.append("Kafka does not describe it")
        result.errors += [f"{partitions_text(some)}: {why}" for why, some in errors.items()]
        return (
            {}
            if description is None
            else {
                partition: KafkaView(description.topic_id, starts.values[partition], ends.values[partition])
                for partition in partitions
                if partition in starts.values and partition in ends.values
            }
        )


def waiting(results: Iterable[TopicResult]) -> int:
    """Return how many offsets wait for a group that has not begun anywhere; 0 when it has, or nothing waits."""
    results = list(results)
    if any(result.begun for result in results):
        return 0
    findings = (finding for result in results for finding in result.findings)
    return sum(finding.end - finding.start for finding in findings if finding.kind is Kind.NOT_BEGUN)


def _known(entry: CommittedOffset | UnknownMetadataError | None) -> CommittedOffset | None:
    return None if isinstance(entry, UnknownMetadataError) else entry


def _spans(history: Iterable[ReplayNote], partition: TopicPartition) -> Iterator[ReplayedSpan]:
    for note in history:
        if (span := note.bounds.get(partition.partition)) is not None:
            yield ReplayedSpan(note.generation, *span, note.done)
