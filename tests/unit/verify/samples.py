"""Evidence of one partition, as small as a test can have it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from logpersister.manifest.blocks.output import OutputSpec
from logpersister.plan.intents import CommittedOffset, Intent, promised, stored
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.deletions import Deletion
from logpersister.storage.facts import ObjectFacts
from logpersister.storage.losses import Loss
from logpersister.storage.names import ObjectName, object_key
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema
from logpersister.verify.evidence import KafkaView, PartitionEvidence, StoredObject
from logpersister.verify.writing import Writing
from tests.unit.manifest.documents import accepted

CLICKS = TopicPartition("clicks", 0)
GROUP = "backup"
ID = "topic-id"
CHECKSUM = "crc32:00000000-00000000-00000000-00000000"


def stored_object(
    start: Offset, end: Offset, *, path: str = "", generation: int = 1, extension: str = ".txt", **facts: Any
) -> StoredObject:
    """Return an object of a dense range, but for what ``facts`` say otherwise."""
    name = ObjectName(CLICKS.topic, CLICKS.partition, generation, start, path, extension)
    said = ObjectFacts(
        group=GROUP,
        generation=generation,
        revision="abcdef123456",
        topic_id=ID,
        range=Range(CLICKS, start, end),
        first=start,
        last=end - 1,
        records=end - start,
        tombstones=0,
        checksum=CHECKSUM,
    )
    said = replace(said, **facts)
    key = object_key("raw", CLICKS.topic, path, generation, CLICKS.partition, start, extension)
    return StoredObject(key, name, 100, said, said.group)


def writing(output: OutputSpec, parser: Parsing | None = None, schema: RowSchema = AS_THEY_ARE) -> Writing:
    """Return how these settings write, whose fields the manifest would allow or not."""
    parser = parser or Parsing()
    update = {"output": output, "value": _Compiled(parser, schema), "quarantine": parser.quarantine}
    return Writing(accepted({}).spec.model_copy(update=update), lambda _: None)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """What a block of values is compiled into."""

    parser: Parsing
    row_schema: RowSchema


def damaged(one: StoredObject, *, end: Offset | None) -> StoredObject:
    return replace(one, facts=None, fault="its facts document is missing", promised_end=end)


def committed(offset: Offset, *, generation: int = 1, topic_id: str | None = ID) -> CommittedOffset:
    return stored(offset, topic_id, generation)


def pending(start: Offset, *ends: Offset, generation: int = 1) -> CommittedOffset:
    return promised(Intent(CLICKS, ID, start, ends, "abcdef123456", generation))


def evidence(
    objects: Sequence[StoredObject], before: CommittedOffset | None, after: CommittedOffset | None = None, **fields: Any
) -> PartitionEvidence:
    settings: dict[str, Any] = {"generation": 1, "kafka": KafkaView(ID, 0, 1_000)} | fields
    return PartitionEvidence(
        partition=CLICKS, group=GROUP, before=before, after=after or before, objects=objects, **settings
    )


def loss(start: Offset, end: Offset, cause: Any = "lost", topic_id: str | None = ID) -> Loss:
    return Loss(Range(CLICKS, start, end), topic_id, cause, 1, "abcdef123456")


def deletion(*spans: tuple[Offset, Offset], generation: int = 1, topic_id: str | None = ID) -> Deletion:
    at = datetime(2026, 11, 28, 21, tzinfo=UTC)
    return Deletion(CLICKS.topic, topic_id, None, 1_000, at, {generation: {CLICKS.partition: spans}})
