"""What a member knows of the partitions that it owns, and what it may do with each. Pure: no clock, no I/O.

A partition goes through these states; every step but the first needs the ownership that the group gave (a token)::

    given by the group ──► unresolved ──► idle at a position ──► promised (an intent) ──► idle at its end
                              │  ▲             │                      │
                              ▼  └── unknown outcome of a commit ─────┘
                             held (a person decides)

The book never forgets an intent because of a failure: what was promised is executed until it is stored.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from logpersister.plan.holds import Hold
from logpersister.plan.intents import Committed, Intent, promised, stored
from logpersister.plan.recovery import Decision, Execute, Resume
from logpersister.ranges import Offset, Range, TopicPartition


@dataclass(frozen=True, slots=True)
class Commit:
    """An offset commit to send, valid only while the group's ownership ``token`` is."""

    token: int
    committed: Committed


@dataclass(slots=True)
class _Entry:
    token: int
    topic_id: str | None = None
    generation: int = 0
    since: Offset | None = None
    """Where the generation began here, as far as anybody knows."""
    position: Offset | None = None
    ends: tuple[Offset, ...] = ()
    """Where the next ranges have to end, when somebody has promised them for another place."""
    intent: Intent | None = None
    doubted: Intent | None = None
    """The intent that was being executed when the outcome of a commit became unknown: most likely it still stands."""
    hold: Hold | None = None
    running: set[Range] = field(default_factory=set)
    done: set[Range] = field(default_factory=set)
    failures: int = 0
    tried: bool = False
    """Whether a range was started since the last failure: those that fail together are one failure."""
    retry_at: float = 0.0
    again: bool = False


class Book:
    """The state of every owned partition."""

    def __init__(self) -> None:
        self._entries: dict[TopicPartition, _Entry] = {}

    # ownership

    def own(self, tokens: Mapping[TopicPartition, int]) -> list[TopicPartition]:
        """Take over the group's assignment; return the partitions that are no longer ours (or ours anew)."""
        gone = [partition for partition, entry in self._entries.items() if tokens.get(partition) != entry.token]
        for partition in gone:
            del self._entries[partition]
        for partition, token in tokens.items():
            if partition not in self._entries:
                self._entries[partition] = _Entry(token)
        return gone

    def owned(self) -> list[TopicPartition]:
        return list(self._entries)

    def token(self, partition: TopicPartition) -> int | None:
        entry = self._entries.get(partition)
        return entry.token if entry else None

    # where a partition stands

    def unresolved(self) -> list[TopicPartition]:
        return [p for p, e in self._entries.items() if e.position is None and e.hold is None]

    def idle(self) -> dict[TopicPartition, Offset]:
        """Return the partitions that may be planned, with their positions."""
        return {
            p: e.position
            for p, e in self._entries.items()
            if e.position is not None and e.intent is None and e.hold is None
        }

    def boundaries(self, partition: TopicPartition) -> tuple[Offset, ...]:
        """Return the ends that the next ranges of an idle partition must have; mostly none."""
        return self._entries[partition].ends

    def positions(self) -> dict[TopicPartition, Offset]:
        """Return the committed position of every resolved partition, held ones too."""
        return {p: e.position for p, e in self._entries.items() if e.position is not None}

    def topic_id(self, partition: TopicPartition) -> str | None:
        entry = self._entries.get(partition)
        return entry.topic_id if entry else None

    def is_of_higher_generation(self, partition: TopicPartition, generation: int) -> bool:
        """Whether the partition is idle at an offset that a member of a higher generation has committed."""
        entry = self._entries.get(partition)
        return entry is not None and entry.intent is None and entry.generation > generation

    def held(self) -> dict[TopicPartition, Hold]:
        return {p: e.hold for p, e in self._entries.items() if e.hold is not None}

    def pending(self) -> list[Intent]:
        return [e.intent for e in self._entries.values() if e.intent is not None]

    def failures(self, partition: TopicPartition) -> int:
        """Return how often in a row the execution of its ranges has failed."""
        return self._entries[partition].failures

    def running(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether a range of any of these partitions is being executed."""
        return any(self._entries[p].running for p in partitions if p in self._entries)

    # steps

    def resolve(self, partition: TopicPartition, decision: Decision, topic_id: str | None, generation: int) -> None:
        """Take in how a partition goes on; `must_commit` decisions only after their commit has succeeded."""
        entry = self._entries[partition]
        entry.topic_id, entry.generation = topic_id, generation
        match decision:
            case Resume(position=position, since=since, ends=ends):
                entry.position, entry.since, entry.ends = position, since, ends
                entry.done.clear()
                entry.failures, entry.retry_at = 0, 0.0
            case Execute(intent=intent, since=since):
                entry.position, entry.intent, entry.generation = intent.start, intent, intent.generation
                entry.since = since
                entry.again = True
                entry.done &= set(intent.ranges()) if _continues(entry.doubted, intent) else set()
            case Hold():
                entry.hold = decision
        entry.doubted = None

    def hold(self, partition: TopicPartition, hold: Hold) -> None:
        entry = self._entries.get(partition)
        if entry is not None:
            entry.hold = hold

    def move(self, partition: TopicPartition, position: Offset) -> None:
        """Go on at a later position of an idle partition (after its commit): records were lost, and recorded so."""
        entry = self._entries[partition]
        if entry.intent is not None or entry.ends or entry.position is None or position < entry.position:
            raise ValueError(f"{partition} cannot move from {entry.position} to {position} with intent {entry.intent}")
        entry.position = position

    def doubt(self, partition: TopicPartition) -> None:
        """Forget the position: a commit's outcome is unknown, so Kafka must be asked again.

        What was stored stays stored. If Kafka still has the intent, it need not be executed again.
        """
        entry = self._entries.get(partition)
        if entry is not None and entry.hold is None:
            entry.doubted = entry.intent or entry.doubted
            entry.position, entry.intent, entry.ends = None, None, ()

    def promise(self, intent: Intent) -> Commit:
        """Return the commit that promises an intent; call `promised` when it has succeeded."""
        entry = self._entries[intent.partition]
        return Commit(entry.token, promised(intent, _since(entry, intent)))

    def promised(self, intent: Intent) -> None:
        entry = self._entries.get(intent.partition)
        if entry is not None and entry.position == intent.start:
            entry.since = _since(entry, intent)
            entry.intent, entry.generation, entry.again, entry.ends = intent, intent.generation, False, ()
            entry.done.clear()

    def promise_position(self, partition: TopicPartition, position: Offset) -> Commit:
        """Return the commit that moves an idle partition on (see `move`)."""
        entry = self._entries[partition]
        return Commit(entry.token, stored(position, entry.topic_id, entry.generation, since=entry.since))

    def give_up_before(self, partition: TopicPartition, log_start: Offset) -> None:
        """Count promised ranges as done that end at or before ``log_start``: nothing of them can be read any more."""
        entry = self._entries[partition]
        if entry.intent is not None:
            entry.done |= {range_ for range_ in entry.intent.ranges() if range_.end <= log_start}
            entry.retry_at = 0.0

    def runnable(self, now: float) -> Iterator[Range]:
        """Yield the promised ranges that wait to be executed and do not back off."""
        for entry in self._entries.values():
            if entry.intent is None or entry.hold is not None or now < entry.retry_at:
                continue
            for candidate in entry.intent.ranges():
                if candidate not in entry.running and candidate not in entry.done:
                    yield candidate

    def intent_of(self, range_: Range) -> Intent | None:
        """Return the pending intent that promises a range, if it still does."""
        entry = self._entries.get(range_.partition)
        if entry is None or entry.intent is None or range_ not in set(entry.intent.ranges()):
            return None
        return entry.intent

    def may_run_again(self, partition: TopicPartition) -> bool:
        """Whether ranges of the pending intent may have been executed before: by another member, or without success."""
        return self._entries[partition].again

    def is_stuck(self, partition: TopicPartition) -> bool:
        """Whether the partition is held, or the last execution of one of its ranges failed."""
        entry = self._entries[partition]
        return entry.hold is not None or entry.failures > 0

    def started(self, range_: Range) -> None:
        entry = self._entries[range_.partition]
        entry.running.add(range_)
        entry.tried = True

    def ended(self, range_: Range, token: int, *, stored: bool, retry_at: Callable[[int], float] | None = None) -> None:
        """Take in the end of an execution that was started under ``token``.

        Args:
            retry_at: gives, by the number of failures in a row, when to try the partition again.
        """
        entry = self._entries.get(range_.partition)
        if entry is None or entry.token != token:
            return
        entry.running.discard(range_)
        if stored:
            promised_by = entry.intent or entry.doubted
            if promised_by is not None and range_ in set(promised_by.ranges()):
                entry.done.add(range_)
                entry.failures, entry.retry_at = 0, 0.0
        elif retry_at is not None:
            entry.failures += entry.tried
            entry.tried = False
            entry.again = True
            entry.retry_at = retry_at(entry.failures)

    def commits(self) -> dict[TopicPartition, Commit]:
        """Return the commits that completed ranges allow: the unbroken ones from the intent's start."""
        ready: dict[TopicPartition, Commit] = {}
        for partition, entry in self._entries.items():
            offset = _unbroken(entry)
            if entry.intent is None or offset == entry.intent.start:
                continue
            left = entry.intent.after(offset)
            if left is not None:
                committed = promised(left, entry.since)
            else:
                revision, since = entry.intent.revision, entry.since
                committed = stored(offset, entry.topic_id, entry.generation, revision=revision, since=since)
            ready[partition] = Commit(entry.token, committed)
        return ready

    def committed(self, partition: TopicPartition, commit: Commit) -> int:
        """Take in a commit of `commits` that has succeeded; return how many offsets it moved over."""
        entry = self._entries.get(partition)
        if entry is None or entry.token != commit.token or entry.position is None or entry.intent is None:
            return 0
        offset = commit.committed.offset
        moved = offset - entry.position
        entry.position = offset
        entry.intent = entry.intent.after(offset)
        entry.done = {range_ for range_ in entry.done if range_.start >= offset}
        return moved


def _continues(before: Intent | None, now: Intent) -> bool:
    """Whether an intent is what is left of one that we were executing: then the same range is the same objects."""
    return (
        before is not None
        and (before.topic_id, before.revision, before.generation) == (now.topic_id, now.revision, now.generation)
        and before.end == now.end
    )


def _since(entry: _Entry, intent: Intent) -> Offset | None:
    """Return where the generation of a new intent began: at the intent, unless the partition was in it before."""
    return entry.since if entry.generation == intent.generation else intent.start


def _unbroken(entry: _Entry) -> Offset:
    if entry.intent is None:
        return entry.position or 0
    offset = entry.intent.start
    for candidate in entry.intent.ranges():
        if candidate not in entry.done:
            break
        offset = candidate.end
    return offset
