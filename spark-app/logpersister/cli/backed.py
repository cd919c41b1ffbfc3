"""The backup that a command reads besides Kafka, as ``--backup`` names it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from logpersister.backup.kept import lacking, unfit
from logpersister.backup.listing import TopicBackup, read_backup
from logpersister.backup.part import BackupPart
from logpersister.backup.ranges import PartitionBackup
from logpersister.cli import bucket, context
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.tables import printable
from logpersister.formats.text.settings import TextSpec
from logpersister.group.answers import Answer, Registered, TopicDescription
from logpersister.group.offsets import OffsetReader
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.pipeline.reader import KafkaReader, RangeRead, ReadRequest
from logpersister.pipeline.source import SourceReader
from logpersister.plan.intents import same_topic
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.store import ObjectStore


def backup_manifest(file: str, live: LogPersister, *, verbatim: bool = False) -> LogPersister:
    """Load the manifest of a backup from which records of a group can be read; `verbatim`: in record batches only."""
    backup = context.manifest(file)
    if verbatim and any(one.output.format != "kafka" for one in backup.spec.variants()):
        raise CommandError(
            f"--backup {file}: spec.output is not kafka, and verify compares with nothing else (docs/backup.md)",
            Exit.INVALID,
        )
    problems = [unfit(one) for one in backup.spec.variants()]
    if all(problems):
        raise CommandError(f"--backup {file}: {problems[0]} (docs/replay.md#sources)", Exit.INVALID)
    if backup.spec.kafka.reads_committed != live.spec.kafka.reads_committed:
        raise CommandError(
            f"--backup {file}: spec.kafka.isolationLevel is another than that of the manifest, so the same offsets "
            "have other records; write the same in both",
            Exit.INVALID,
        )
    return backup


def check_backup(backup: LogPersister, live: LogPersister, topics: Sequence[str]) -> None:
    """Raise for a topic whose objects in the backup do not have what the manifest makes of records."""
    for topic in filter(backup.spec.kafka.selects, topics):
        kept, needed = backup.spec.for_topic(topic), live.spec.for_topic(topic)
        problem = unfit(kept) or lacking(kept, needed)
        if problem is not None:
            raise CommandError(f"--backup: topic {printable(topic)}: {problem} (docs/replay.md#sources)", Exit.INVALID)


def text_of(backup: LogPersister, topics: Sequence[str]) -> tuple[tuple[str, TextSpec], ...]:
    """Return how lines are to be understood, of the topics whose backup is text."""
    found = ((topic, backup.spec.for_topic(topic).output.text) for topic in topics)
    return tuple((topic, text) for topic, text in found if text is not None)


@dataclass(slots=True)
class Backup:
    """What a group has in its backup, topic by topic."""

    resource: LogPersister
    store: ObjectStore
    _topics: dict[str, TopicBackup | None] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def opened(cls, resource: LogPersister | None, secrets: Secrets) -> "Iterator[Backup | None]":
        """Open the bucket of a backup, if there is one; errors of the storage inside the block end the command."""
        if resource is None:
            yield None
            return
        with bucket.opened(resource, secrets) as store:
            yield cls(resource, store)

    def topic(self, topic: str) -> TopicBackup | None:
        """Return what it has of a topic, as it was when that was asked first; None: nothing."""
        if topic not in self._topics:
            try:
                found = read_backup(self.store, self.resource.group_id, topic, spec=self.resource.spec.for_topic(topic))
            except ForeignObjectError as error:
                raise CommandError(f"--backup: {error}", Exit.FAILED) from None
            self._topics[topic] = found if found.partitions else None
        return self._topics[topic]

    def partition(self, partition: TopicPartition) -> PartitionBackup | None:
        """Return what it has of a partition; None: nothing."""
        found = self.topic(partition.topic)
        return None if found is None else found.partitions.get(partition)


class BackedOffsets:
    """Offsets of a group, in a log that reaches back as far as the backup goes without a hole."""

    def __init__(self, offsets: OffsetReader, backup: Backup) -> None:
        self._offsets, self._backup = offsets, backup
        self._ids: dict[str, str | None] = {}

    def committed(
        self, partitions: Iterable[TopicPartition], group_id: str | None = None
    ) -> Mapping[TopicPartition, Registered]:
        return self._offsets.committed(partitions, group_id)

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return self._offsets.ends(partitions)

    def describe(self, topics: Iterable[str]) -> Mapping[str, TopicDescription]:
        found = self._offsets.describe(topics)
        self._ids |= {name: topic.topic_id for name, topic in found.items()}
        return found

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        found = self._offsets.log_starts(partitions)
        return Answer({p: self._reaches_back_to(p, log_start) for p, log_start in found.values.items()}, found.errors)

    def _reaches_back_to(self, partition: TopicPartition, log_start: Offset) -> Offset:
        of_topic, kept = self._backup.topic(partition.topic), self._backup.partition(partition)
        if of_topic is None or kept is None or kept.start >= log_start:
            return log_start
        if not same_topic(of_topic.topic_id, self._ids.get(partition.topic)):
            return log_start
        holes = BackupPart.of(kept, Range(partition, kept.start, log_start)).holes
        return max((hole.end for hole in holes), default=kept.start)


class BackedReader:
    """Reads ranges from Kafka, and what it has deleted from a backup."""

    def __init__(self, reader: KafkaReader, backup: Backup) -> None:
        self._source = SourceReader(reader, backup.store, kafka=True)
        self._backup = backup

    def read(self, requests: Sequence[ReadRequest]) -> Iterator[RangeRead]:
        return self._source.read([self._with_part(request) for request in requests])

    def _with_part(self, request: ReadRequest) -> ReadRequest:
        part = BackupPart.of(self._backup.partition(request.range.partition), request.range)
        return replace(request, backup=part)

    def close(self) -> None:
        self._source.close()
