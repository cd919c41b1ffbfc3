"""Why a partition is held, and what is said about it: what was found, and what the user can choose.

Nothing of a held partition is written until a person decides; the other partitions go on. docs/operations.md has a
section for each reason.
"""

from dataclasses import dataclass
from enum import StrEnum

from logpersister.ranges import Offset, TopicPartition


class HoldReason(StrEnum):
    """A short stable word for each, as it stands in metrics, status and documents."""

    TOPIC_RECREATED = "topic-recreated"
    REPLAY_REQUESTED = "replay-requested"
    DATA_LOST = "data-lost"
    FOREIGN_OBJECTS = "foreign-objects"
    REVISION_MISSING = "revision-missing"
    UNKNOWN_METADATA = "unknown-metadata"
    TRUNCATED = "truncated"
    OTHER_RULES = "other-rules"
    TOO_MANY_REFUSED = "too-many-refused"
    SCHEMA_INCOMPATIBLE = "schema-incompatible"
    OFFSET_WENT_BACK = "offset-went-back"
    PROTOCOL = "protocol"


@dataclass(frozen=True, slots=True)
class Hold:
    """The decision to leave a partition alone."""

    reason: HoldReason
    message: str


def topic_recreated(partition: TopicPartition, before: str | None, now: str | None) -> Hold:
    """The topic was deleted and another one of its name was made: offsets mean other records than they did."""
    return Hold(
        HoldReason.TOPIC_RECREATED,
        f"topic {partition.topic!r} was deleted and created again (id {before}, now {now}): its offsets started "
        "again and would mix with the stored ones; raise spec.generation, or change spec.storage.prefix",
    )


def replay_requested(partition: TopicPartition, offset: Offset, stored_end: Offset, generation: int) -> Hold:
    """A user has set the committed offset back into what this generation has stored."""
    return Hold(
        HoldReason.REPLAY_REQUESTED,
        f"the offset of {partition} was set back to {offset}, but generation {generation} is stored up to {stored_end} "
        "and one generation never holds a record twice; raise spec.generation to replay, or set the offset to "
        f"{stored_end}",
    )


def replay_elsewhere(partition: TopicPartition, place: str | None, stored_end: Offset, generation: int) -> Hold:
    """What is promised for another place, which refuses it, was stored in ours before the promise."""
    return Hold(
        HoldReason.REPLAY_REQUESTED,
        f"{partition} has a pending intent for {place}, which refuses it, and generation {generation} is stored up to "
        f"{stored_end} in the bucket and prefix of this manifest: one generation never holds a record twice; correct "
        "the rights there, or raise spec.generation",
    )


def data_lost(partition: TopicPartition, start: Offset, end: Offset) -> Hold:
    """Kafka has deleted records before they were stored, and ``onDataLoss`` is ``fail``."""
    return Hold(
        HoldReason.DATA_LOST,
        f"Kafka has deleted offsets [{start}, {end}) of {partition} before they were stored; set spec.kafka.onDataLoss "
        "to skip to record the loss and go on, or set the group's offset yourself",
    )


def hole(partition: TopicPartition, problem: str) -> Hold:
    """No source of a replay has records that it promised to store."""
    return Hold(HoldReason.DATA_LOST, f"{partition}: {problem}. Restore the object, and repeat the replay")


def foreign_objects(partition: TopicPartition, group: str, generation: int) -> Hold:
    """Objects that we would overwrite belong to another group."""
    return Hold(
        HoldReason.FOREIGN_OBJECTS,
        f"group {group!r} has stored generation {generation} of {partition} under the same prefix; give each group a "
        "spec.storage.prefix of its own, or raise spec.generation",
    )


def unreadable_objects(partition: TopicPartition, problem: str) -> Hold:
    """Objects under our names that do not say what they hold."""
    return Hold(HoldReason.FOREIGN_OBJECTS, f"{partition}: {problem}; move them away, or raise spec.generation")


def revision_missing(partition: TopicPartition, revision: str) -> Hold:
    """A pending intent cannot be executed as it was written."""
    return Hold(
        HoldReason.REVISION_MISSING,
        f"{partition} has a pending intent of revision {revision}, whose snapshot is not in the bucket, or was changed "
        "there; restore it, or if the endpoint was changed, run the old manifest until it has finished",
    )


def unknown_metadata(partition: TopicPartition, problem: str) -> Hold:
    """The committed offset has metadata of ours that this release cannot read."""
    return Hold(HoldReason.UNKNOWN_METADATA, f"{partition}: {problem}")


def truncated(partition: TopicPartition, position: Offset, end: Offset) -> Hold:
    """The log ends before what is stored: Kafka has lost its end."""
    return Hold(
        HoldReason.TRUNCATED,
        f"{partition} ends at {end}, before the committed offset {position}: Kafka has lost records that are stored "
        "(an unclean leader election); raise spec.generation and set the group's offset to what Kafka still has",
    )


def other_rules(partition: TopicPartition, problem: str) -> Hold:
    """A range was begun by a build with other rules, and what is stored of it is not what we would write."""
    return Hold(
        HoldReason.OTHER_RULES,
        f"{partition}: {problem}. Run the build that promised the range until it is stored; or, while Kafka still has "
        "its records, delete the objects of this range (none is committed) and restart this member",
    )


def too_many_refused(partition: TopicPartition, problem: str) -> Hold:
    """More of a promised range would go to quarantine than the manifest allows; nothing of it is visible."""
    return Hold(
        HoldReason.TOO_MANY_REFUSED,
        f"{partition}: {problem}. Nothing of the range is stored. Correct the producer or spec.value for later "
        "ranges, and raise or remove spec.quarantine.holdAbove: the range is stored as it was promised, and "
        "`logpersister quarantine replay` then stores the records that the corrected manifest accepts",
    )


def schema_incompatible(partition: TopicPartition, version: int, before: int, problem: str) -> Hold:
    """The schema that the registry has now cannot read what was written since the one before was used."""
    return Hold(
        HoldReason.SCHEMA_INCOMPATIBLE,
        f"{partition}: version {version} of the schema cannot read values of the versions from {before} on: {problem}; "
        "register a version that can (where none can, delete the version that does not fit), and restart this member; "
        f"or set version of its registry to {before}, or raise spec.generation to continue with it",
    )


def offset_went_back(partition: TopicPartition, offset: Offset, stored_at: Offset, generation: int) -> Hold:
    """Kafka shows an older offset than was committed: the bucket has objects at or behind it."""
    return Hold(
        HoldReason.OFFSET_WENT_BACK,
        f"Kafka shows {offset} as the committed offset of {partition}, but generation {generation} has an object that "
        f"begins at {stored_at}, or is a replay that stores one there: Kafka has lost a commit (an unclean election of "
        "__consumer_offsets, a restored cluster), or somebody has set the offset back; set the group's offset to the "
        "end of what is stored, which "
        "`logpersister verify` shows, or raise spec.generation to store it again",
    )


def commit_vanished(partition: TopicPartition, read: Offset | None, seen: Offset) -> Hold:
    """Kafka goes on showing an older value than this member has seen acknowledged."""
    shows = "no committed offset" if read is None else f"{read} as the committed offset, or older metadata beside it"
    return Hold(
        HoldReason.OFFSET_WENT_BACK,
        f"Kafka shows {shows} of {partition}, but this member's commit of {seen} was acknowledged: Kafka has lost a "
        "commit (an unclean election of __consumer_offsets, a restored cluster), or somebody has deleted the group's "
        "offsets; restart the member, which then finds its position by the objects in the bucket",
    )


def protocol_broken(partition: TopicPartition, problem: str) -> Hold:
    """A decision of ours would break the protocol: a bug, which was stopped before anything was written."""
    return Hold(
        HoldReason.PROTOCOL,
        f"{partition}: {problem}; this is a bug of logpersister, which was stopped before anything was written: report "
        "it with the log, and restart the member",
    )
