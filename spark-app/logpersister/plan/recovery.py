"""Derives the value that the register of a partition should have, from its present value and the bucket. Pure.

The answer is a value for the register, or a hold. When the value is the one that stands there, nothing need be written.
The rules are those of docs/design/intents.md, "Positions that we did not leave".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from logpersister.plan import holds
from logpersister.plan.holds import Hold
from logpersister.plan.intents import (
    PLANNED_RANGES,
    CommittedOffset,
    Intent,
    UnstoredPrefix,
    promised,
    same_topic,
    stored,
)
from logpersister.ranges import NewestEvent, Offset, TopicPartition


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A range of a partition that has at least one object in the bucket."""

    start: Offset
    end: Offset
    group: str
    revision: str
    topic_id: str | None
    whole: bool
    """Whether the range is one object by its layout (no partition paths, no parser that refuses anything), so that the
    object's presence proves it."""
    horizon: int | None = None
    """Watermark that separated its late records (`Intent.horizon`)."""


@dataclass(frozen=True, slots=True)
class ReplayedEnd:
    """Offset up to which a replay of the group stores a partition again: the group had committed it before that."""

    generation: int
    end: Offset
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class StoredTail:
    """Last stored ranges of a partition, in our generation or the one before that has anything."""

    generation: int
    ranges: tuple[StoredRange, ...] = ()
    """The last `PLANNED_RANGES` ranges of the generation, by rising start. No more than one intent can have been half
    written, so older ranges were all committed. Those of replays are not among them: they tell nothing of the group."""
    before: StoredRange | None = None
    """The last range of the generation before that one which has any."""
    replays: tuple[ReplayedEnd, ...] = ()
    """Where the replays of the group end, of all generations."""

    @property
    def end(self) -> Offset:
        return max(range_.end for range_ in self.ranges)


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """Contents of this member's promises for a partition, besides the offsets."""

    partition: TopicPartition
    topic_id: str | None
    group: str
    generation: int
    revision: str
    place: str

    def intent(
        self,
        start: Offset,
        ends: tuple[Offset, ...],
        unstored: UnstoredPrefix | None = None,
        horizon: int | None = None,
    ) -> Intent:
        """Return a promise under our own revision."""
        return Intent(
            self.partition,
            self.topic_id,
            start,
            ends,
            self.revision,
            self.generation,
            self.place,
            unstored,
            horizon,
        )

    def at(
        self,
        offset: Offset,
        since: Offset | None = None,
        seen: NewestEvent | None = None,
        after: StoredRange | None = None,
    ) -> CommittedOffset:
        """Return the value that says that everything before an offset is settled.

        `after`: the range of our generation before it, if there is one. Its revision is named, as after any other
        range: the next one must be able to read its schema.
        """
        revision = None if after is None else after.revision
        return stored(offset, self.topic_id, self.generation, since=since, revision=revision, seen=seen)


def needs_bucket(committed: CommittedOffset | None, topic_id: str | None, generation: int) -> bool:
    """Whether the bucket must be looked into before a member of ``generation`` goes on from a committed offset.

    It must when the offset is missing, not ours, of another topic, or of a higher generation: that one may be a replay
    of what our own generation has stored already. What is pending is executed first, whatever its generation.
    """
    if committed is None or committed.metadata is None or not same_topic(committed.metadata.topic_id, topic_id):
        return True
    return committed.metadata.generation > generation and not committed.metadata.ends


def from_another_place(
    context: PartitionContext, committed: CommittedOffset, tail: StoredTail
) -> CommittedOffset | Hold:
    """Decide for a partition with an intent whose own place cannot be written to: its ranges are stored in ours.

    They keep their boundaries: whatever of them was stored in the other place, no later range of any revision
    overlaps with it, there or here. What ours has of them already was promised for it before: a member that cannot
    write to ours gave that up. It is executed again as it was begun: same names, same content. Whatever else ours has
    from there on was stored before an offset was set back: that is a replay, and held.

    Args:
        tail: as for `from_bucket`, of our own place.
    """
    intent = committed.intent(context.partition)
    if intent is None or committed.metadata is None:
        raise ValueError(f"{committed} promises nothing for another place")
    of_ours = tail.ranges if tail.generation == context.generation else ()
    conflict = _conflict(context, of_ours) or _replay_of_another_topic(context, tail)
    if conflict is not None:
        return conflict
    if intent.start < (replayed := _replayed_up_to(context, tail, context.generation)):
        return holds.replay_elsewhere(context.partition, intent.place, replayed, context.generation)
    since = committed.metadata.since if intent.generation == context.generation else intent.start
    seen = committed.metadata.seen
    begun = [range_ for range_ in of_ours if range_.end > intent.start]
    ours = context.intent(intent.start, intent.ends, intent.unstored, intent.horizon)
    if not begun:
        return promised(ours, since, seen)
    ranges = {(range_.start, range_.end) for range_ in intent.ranges()}
    as_promised = all((it.start, it.end) in ranges and _begun_alike(it, begun[-1]) for it in begun)
    if as_promised and intent.generation <= context.generation:  # a higher one may be replaying what ours has
        return promised(replace(ours, revision=begun[-1].revision, horizon=begun[-1].horizon), since, seen)
    stored_end = max(range_.end for range_ in begun)
    return holds.replay_elsewhere(context.partition, intent.place, stored_end, context.generation)


def from_bucket(  # noqa: PLR0911 - one for each row of the table in docs/design/intents.md
    context: PartitionContext, committed: CommittedOffset | None, tail: StoredTail, begin: Offset, log_start: Offset
) -> CommittedOffset | Hold:
    """Decide for a partition whose committed offset was not left by us, or by a higher generation.

    Args:
        tail: what is stored of this partition, in the highest generation up to ours that has anything.
        begin: where a partition without any trace begins: ``spec.kafka.startFrom`` when the group began.
        log_start: first offset that Kafka still has.
    """
    ours = tail.ranges if tail.generation == context.generation else ()
    conflict = _conflict(context, ours) or _replay_of_another_topic(context, tail) or _unfinished(context, committed)
    if conflict is not None:
        return conflict
    metadata = committed.metadata if committed is not None else None
    if committed is None or (metadata is not None and not same_topic(metadata.topic_id, context.topic_id)):
        if not _is_ours(context, tail):
            begin = max(begin, _replayed_up_to(context, tail, 0))
            return context.at(begin, since=begin)
        return _repair(context, tail, max(begin, log_start), log_start)
    seen = metadata.seen if metadata is not None else None
    stored_end = max([_replayed_up_to(context, tail, context.generation), *(range_.end for range_ in ours)])
    if committed.offset < stored_end:
        return holds.replay_requested(context.partition, committed.offset, stored_end, context.generation)
    if not ours:
        return context.at(committed.offset, since=committed.offset, seen=seen)
    if committed.offset > stored_end and metadata is None:
        skipped = context.intent(stored_end, (committed.offset,), UnstoredPrefix(committed.offset, "skipped"))
        return promised(skipped)
    return context.at(committed.offset, seen=seen, after=ours[-1])


def _conflict(context: PartitionContext, ours: Sequence[StoredRange]) -> Hold | None:
    for range_ in ours:
        if range_.group != context.group:
            return holds.foreign_objects(context.partition, range_.group, context.generation)
        if not same_topic(range_.topic_id, context.topic_id):
            return holds.topic_recreated(context.partition, range_.topic_id, context.topic_id)
    return None


def _replay_of_another_topic(context: PartitionContext, tail: StoredTail) -> Hold | None:
    """Hold a generation that is the replay of an earlier topic of this name: its objects have our names."""
    for replay in tail.replays:
        if replay.generation == context.generation and not same_topic(replay.topic_id, context.topic_id):
            return holds.topic_recreated(context.partition, replay.topic_id, context.topic_id)
    return None


def _replayed_up_to(context: PartitionContext, tail: StoredTail, generation: int) -> Offset:
    """Return up to where replays into this generation or higher ones show that all is settled; 0: they show nothing.

    A replay ends where its group had committed, in a lower generation, when it was planned. Who stores in that lower
    generation, or in the one of the replay, stands there or behind. Only a generation that was raised since may have
    been set back.
    """
    known = (one for one in tail.replays if same_topic(one.topic_id, context.topic_id))
    return max((one.end for one in known if one.generation >= generation), default=0)


def _is_ours(context: PartitionContext, tail: StoredTail) -> bool:
    """Whether there is anything stored to go on behind. Of a lower generation, others' objects are not our business."""
    return bool(tail.ranges) and _conflict(context, tail.ranges) is None


def _unfinished(context: PartitionContext, committed: CommittedOffset | None) -> Hold | None:
    """Hold a topic that was made again while ranges of the old one were promised: a zombie may yet write them."""
    metadata = committed.metadata if committed is not None else None
    if metadata is None or not metadata.ends or metadata.generation != context.generation:
        return None  # (a pending intent of the same topic is executed, and never comes here)
    return holds.topic_recreated(context.partition, metadata.topic_id, context.topic_id)


def _repair(context: PartitionContext, tail: StoredTail, beginning: Offset, log_start: Offset) -> CommittedOffset:
    """Go on when Kafka has forgotten the committed offset, and any intent with it: after the stored ranges.

    The last intent may have been half written, and an intent has one revision and one horizon, so only the last ranges
    of one of each are in doubt. They are executed again with the boundaries that the stored objects have, under the
    generation that they are of: same names, same content. A hole between them may have been a range without records
    (those make no object); it is executed too. A range that Kafka no longer has at all cannot be in doubt any more: it
    counts as stored. Of one that it has in part, objects may be missing: it is executed again, as a range of which
    records are lost. What is before the end of a replay was committed when that was planned: it counts as stored, too,
    also where ``switch --delete-old`` has deleted its objects.

    Args:
        beginning: where the partition would begin without any trace. When the whole history is in the tail, the hole
            before its first range reaches back to there, or to what the generation before has stored.
    """
    last = tail.ranges[-1]
    settled = max(log_start, _replayed_up_to(context, tail, tail.generation))
    beginning = max(beginning, _replayed_up_to(context, tail, 0))
    in_doubt = takewhile(lambda it: _begun_alike(it, last) and it.end > settled, reversed(tail.ranges))
    doubtful = list(in_doubt)[::-1]
    if tail.before is not None and _conflict(context, [tail.before]) is None:
        beginning = max(beginning, tail.before.end)

    def end_before(range_: StoredRange) -> Offset:
        """Where the range before begins to be missing: the end of what is stored before, or the beginning."""
        earlier = [other.end for other in tail.ranges if other.start < range_.start]
        if earlier:
            return min(max(*earlier, settled), range_.start)
        return min(beginning, range_.start) if len(tail.ranges) < PLANNED_RANGES else range_.start

    while doubtful and doubtful[0].whole and end_before(doubtful[0]) >= doubtful[0].start:
        del doubtful[0]
    if not doubtful:
        end = max(tail.end, _replayed_up_to(context, tail, tail.generation))
        return stored(end, context.topic_id, tail.generation, revision=last.revision)
    start = end_before(doubtful[0])
    boundaries = {boundary for it in doubtful for boundary in (it.start, it.end) if boundary > start}
    again = replace(context, revision=last.revision, generation=tail.generation)
    return promised(again.intent(start, tuple(sorted(boundaries)), horizon=last.horizon))


def _begun_alike(one: StoredRange, other: StoredRange) -> bool:
    return (one.revision, one.horizon) == (other.revision, other.horizon)
