"""How a member goes on with a partition that it was just given: from the committed offset, or from the bucket.

Pure: what Kafka and the bucket hold comes in, one decision comes out. The rules are those of docs/design/intents.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from logpersister.plan import holds
from logpersister.plan.holds import Hold
from logpersister.plan.intents import PLANNED_RANGES, Committed, Intent
from logpersister.ranges import Offset, TopicPartition


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on at ``position``; ``skipped_from`` tells where a user's forward reset left stored data."""

    position: Offset
    must_commit: bool = False
    """Whether the position is not yet in Kafka as ours (a first start, or a repaired commit)."""
    skipped_from: Offset | None = None
    since: Offset | None = None
    """Where the member's generation began in this partition; None when nobody knows any more."""
    ends: tuple[Offset, ...] = ()
    """Of ranges from ``position`` on that were promised for another place and are to be promised anew for our own."""


@dataclass(frozen=True, slots=True)
class Execute:
    """Execute a pending intent exactly as it was written."""

    intent: Intent
    must_commit: bool = False
    """Whether Kafka has forgotten the intent, so that it must be promised again first."""
    since: Offset | None = None
    """Where the intent's generation began in this partition; None when nobody knows any more."""


Decision = Resume | Execute | Hold


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A range of this partition and generation that has at least one object in the bucket."""

    start: Offset
    end: Offset
    group: str
    revision: str
    topic_id: str | None
    whole: bool
    """Whether the range is one object by its layout (no partition paths, no parser that refuses anything), so that the
    object's presence proves it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The partition as this member would write it."""

    partition: TopicPartition
    topic_id: str | None
    group: str
    generation: int
    revision: str
    place: str
    """Bucket and prefix."""


def needs_inventory(committed: Committed | None, topic_id: str | None, generation: int) -> bool:
    """Whether the bucket must be looked into before a member of ``generation`` goes on from a committed offset.

    It must when the offset is missing, not ours, of another topic, or of a higher generation: that one may be a replay
    of what our own generation has stored already. What is pending is executed first, whatever its generation.
    """
    if committed is None or committed.mark is None or not same_topic(committed.mark.topic_id, topic_id):
        return True
    return committed.mark.generation > generation and not committed.mark.ends


def same_topic(one: str | None, other: str | None) -> bool:
    """Whether two topic ids may name the same topic; brokers before 2.8 have none."""
    return one is None or other is None or one == other


def from_commit(partition: TopicPartition, committed: Committed, generation: int) -> Decision:
    """Decide, as a member of ``generation``, by a committed offset that is ours."""
    intent, mark = committed.intent(partition), committed.mark
    since = mark.since if mark is not None else None
    if intent is not None:
        return Execute(intent, since=since)
    begins = mark is not None and mark.generation != generation
    return Resume(committed.offset, since=committed.offset if begins else since)


def from_another_place(subject: Subject, intent: Intent, since: Offset | None, tail: Sequence[StoredRange]) -> Decision:
    """Decide for a partition with an intent whose own place cannot be written to: its ranges are stored in ours.

    They keep their boundaries: whatever of them was stored in the other place, no later range of any revision
    overlaps with it, there or here. What ours has of them already was promised for it before: a member that cannot
    write to ours gave that up. It is executed again as it was begun: same names, same content. Whatever else ours has
    from there on was stored before an offset was set back: that is a replay, and held.

    Args:
        since: where the intent's generation began.
        tail: as for `from_bucket`, of our own place.
    """
    conflict = _conflict(subject, tail)
    if conflict is not None:
        return conflict
    begins = since if intent.generation == subject.generation else intent.start
    begun = [stored for stored in tail if stored.end > intent.start]
    if not begun:
        return Resume(intent.start, since=begins, ends=intent.ends)
    revision = begun[-1].revision
    ranges = {(range_.start, range_.end) for range_ in intent.ranges()}
    as_promised = all((stored.start, stored.end) in ranges and stored.revision == revision for stored in begun)
    if as_promised and intent.generation <= subject.generation:  # a higher one may be replaying what ours has
        ours = replace(intent, revision=revision, generation=subject.generation, place=subject.place)
        return Execute(ours, must_commit=True, since=begins)
    stored_end = max(stored.end for stored in begun)
    return holds.replay_elsewhere(subject.partition, intent.place, stored_end, subject.generation)


def from_bucket(
    subject: Subject, committed: Committed | None, tail: Sequence[StoredRange], start_from: Offset, log_start: Offset
) -> Decision:
    """Decide for a partition whose committed offset was not left by us, or by a higher generation.

    Args:
        tail: the last `PLANNED_RANGES` stored ranges of this partition and generation, by rising start. No more than
            one intent can have been half written, so older ranges were all committed.
        start_from: where a partition without any trace begins (``spec.kafka.startFrom``, resolved to an offset).
        log_start: first offset that Kafka still has.
    """
    conflict = _conflict(subject, tail) or _unfinished(subject, committed)
    if conflict is not None:
        return conflict
    mark = committed.mark if committed is not None else None
    if committed is None or (mark is not None and not same_topic(mark.topic_id, subject.topic_id)):
        if not tail:
            return Resume(start_from, must_commit=True, since=start_from)
        return _repair(subject, tail, max(start_from, log_start), log_start)
    if not tail:
        return Resume(committed.offset, must_commit=True, since=committed.offset)
    stored_end = max(stored.end for stored in tail)
    if committed.offset >= stored_end:
        skipped = stored_end if committed.offset > stored_end and mark is None else None
        return Resume(committed.offset, must_commit=True, skipped_from=skipped)
    return holds.replay_requested(subject.partition, committed.offset, stored_end, subject.generation)


def _conflict(subject: Subject, tail: Sequence[StoredRange]) -> Hold | None:
    for stored in tail:
        if stored.group != subject.group:
            return holds.foreign_objects(subject.partition, stored.group, subject.generation)
        if not same_topic(stored.topic_id, subject.topic_id):
            return holds.topic_recreated(subject.partition, stored.topic_id, subject.topic_id)
    return None


def _unfinished(subject: Subject, committed: Committed | None) -> Hold | None:
    """Hold a topic that was made again while ranges of the old one were promised: a zombie may yet write them."""
    mark = committed.mark if committed is not None else None
    if mark is None or not mark.ends or mark.generation != subject.generation:
        return None  # (a pending intent of the same topic is executed, and never comes here)
    return holds.topic_recreated(subject.partition, mark.topic_id, subject.topic_id)


def _repair(subject: Subject, tail: Sequence[StoredRange], beginning: Offset, log_start: Offset) -> Decision:
    """Go on when Kafka has forgotten the committed offset, and any intent with it: after the stored ranges.

    The last intent may have been half written, and an intent has one revision, so only the last ranges of one
    revision are in doubt. They are executed again with the boundaries that the stored objects have: same names, same
    content. A hole between them may have been a range without records (those make no object); it is executed too.
    A range that Kafka no longer has at all cannot be in doubt any more: it counts as stored. Of one that it has in
    part, objects may be missing: it is executed again, as a range of which records are lost.

    Args:
        beginning: where the partition would begin without any trace. When the whole history is in the tail, the hole
            before its first range reaches back to there.
    """
    revision = tail[-1].revision
    in_doubt = takewhile(lambda stored: stored.revision == revision and stored.end > log_start, reversed(tail))
    doubtful = list(in_doubt)[::-1]
    whole_history = len(tail) < PLANNED_RANGES

    def end_before(stored: StoredRange) -> Offset:
        """Where the range before begins to be missing: the end of what is stored before, or the beginning."""
        earlier = [other.end for other in tail if other.start < stored.start]
        if earlier:
            return min(max(*earlier, log_start), stored.start)
        return min(beginning, stored.start) if whole_history else stored.start

    while doubtful and doubtful[0].whole and end_before(doubtful[0]) >= doubtful[0].start:
        del doubtful[0]
    if not doubtful:
        return Resume(max(stored.end for stored in tail), must_commit=True)
    start = end_before(doubtful[0])
    boundaries = {boundary for stored in doubtful for boundary in (stored.start, stored.end) if boundary > start}
    ends = tuple(sorted(boundaries))
    intent = Intent(subject.partition, subject.topic_id, start, ends, revision, subject.generation, place=subject.place)
    return Execute(intent, must_commit=True)
