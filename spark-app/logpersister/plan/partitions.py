"""The partitions that a member owns: the protocol's state and the attempts of each. Pure: no clock, no I/O.

Everything that happens to a partition goes through its protocol (plan/protocol.py). What concerns an ownership that is
over changes nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from logpersister.plan import holds, protocol
from logpersister.plan.events import Acknowledged, Block, Event, Stored
from logpersister.plan.holds import Hold
from logpersister.plan.intents import CommittedOffset, Intent
from logpersister.plan.protocol import Protocol, ProtocolError
from logpersister.plan.states import Effect, Held, Idle, InDoubt, Pending, Record, State, Unresolved, Write
from logpersister.ranges import NewestEvent, Offset, Range, TopicPartition


@dataclass(slots=True)
class Attempts:
    """Attempts at the promised ranges of one partition, which pace the work: no promise depends on them."""

    running: set[Range] = field(default_factory=set)
    again: bool = False
    """Whether ranges of the promise may have been executed before: by another process, or without success."""
    failures: int = 0
    """Failed executions in a row; ranges that fail together are one failure."""
    retry_at: float = 0.0
    _tried: bool = False
    """Whether a range was started since the last failure."""

    def begin(self, *, again: bool) -> None:
        """Begin with a new promise; what runs goes on."""
        self.again, self.failures, self.retry_at = again, 0, 0.0

    def started(self, range_: Range) -> None:
        self.running.add(range_)
        self._tried = True

    def succeeded(self, range_: Range) -> None:
        self.running.discard(range_)
        self.failures, self.retry_at = 0, 0.0

    def failed(self, range_: Range, retry_at: Callable[[int], float]) -> None:
        """Take in a failure; ``retry_at`` gives, by the number of failures in a row, when to try again."""
        self.running.discard(range_)
        self.failures += self._tried
        self._tried = False
        self.again = True
        self.retry_at = retry_at(self.failures)


@dataclass(frozen=True, slots=True)
class Commit:
    """An offset commit to send, valid only while the group's ownership ``token`` is."""

    token: int
    committed: CommittedOffset


@dataclass(slots=True)
class _Partition:
    token: int
    protocol: Protocol
    state: State
    topic_id: str | None = None
    attempts: Attempts = field(default_factory=Attempts)
    _owed: tuple[State, tuple[Effect, ...]] | None = None

    def owed(self) -> tuple[Effect, ...]:
        """Return what the state wants; made once of each, because a turn asks for all partitions several times."""
        if self._owed is None or self._owed[0] is not self.state:
            self._owed = self.state, self.protocol.owed(self.state)
        return self._owed[1]

    def intent(self, partition: TopicPartition) -> Intent | None:
        """Return the intent that stands in the register, where it is known."""
        if isinstance(self.state, Pending):
            return self.state.intent
        value = protocol.value_of(self.state)
        return None if value is None else value.intent(partition)


class PartitionStates:
    """The state of every owned partition."""

    def __init__(self, generation: int) -> None:
        self._generation = generation
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._seen: dict[TopicPartition, CommittedOffset] = {}
        """The newest acknowledged value of partitions that were ours."""

    # ownership

    def own(self, tokens: Mapping[TopicPartition, int]) -> list[TopicPartition]:
        """Take over the group's assignment; return the partitions that are no longer ours (or ours anew)."""
        gone = [partition for partition, it in self._partitions.items() if tokens.get(partition) != it.token]
        for partition in gone:
            seen = protocol.newest(self._partitions.pop(partition).state)
            if seen is not None:
                self._seen[partition] = seen
        for partition, token in tokens.items():
            if partition not in self._partitions:
                state = Unresolved(self._seen.get(partition))
                self._partitions[partition] = _Partition(token, Protocol(partition, self._generation), state)
        return gone

    def owned(self) -> list[TopicPartition]:
        return list(self._partitions)

    def token(self, partition: TopicPartition) -> int | None:
        found = self._partitions.get(partition)
        return found.token if found else None

    # the protocol

    def state(self, partition: TopicPartition) -> State:
        return self._partitions[partition].state

    def step(self, partition: TopicPartition, event: Event) -> tuple[Effect, ...]:
        """Let something happen to a partition; return what has to be done now. What breaks the protocol holds it."""
        found = self._partitions.get(partition)
        if found is None:
            return ()
        before = found.state
        try:
            found.state, effects = found.protocol.step(before, event)
        except ProtocolError as error:
            found.state, effects = Held(holds.protocol_broken(partition, str(error)), protocol.newest(before)), ()
        if protocol.is_new_promise(before, found.state):
            found.attempts.begin(again=not isinstance(before, Idle))
        return effects

    def acknowledged(self, partition: TopicPartition, commit: Commit) -> None:
        """Take in that Kafka has taken a commit."""
        found = self._partitions.get(partition)
        if found is not None and found.token == commit.token:
            self.step(partition, Acknowledged(commit.committed))

    def writes(self) -> dict[TopicPartition, Commit]:
        """Return the commits that stored ranges and recorded losses allow."""
        owed = ((p, it.token, effect) for p, it in self._partitions.items() for effect in it.owed())
        return {p: Commit(token, effect.value) for p, token, effect in owed if isinstance(effect, Write)}

    def unrecorded(self) -> list[Intent]:
        """Return the intents with an unstored prefix whose record must be in the bucket before their offset moves."""
        return [record.intent for p in self._partitions if (record := self.record_of(p)) is not None]

    def record_of(self, partition: TopicPartition) -> Record | None:
        """Return what has to be recorded of a partition, if anything."""
        found = self._partitions.get(partition)
        effects = found.owed() if found is not None else ()
        return next((effect for effect in effects if isinstance(effect, Record)), None)

    # where a partition stands

    def value(self, partition: TopicPartition) -> CommittedOffset | None:
        """Return what stands in the register, where it is known."""
        return protocol.value_of(self._partitions[partition].state)

    def unresolved(self) -> list[TopicPartition]:
        """Return the partitions of which Kafka has to be asked where they stand."""
        return [p for p, it in self._partitions.items() if isinstance(it.state, Unresolved | InDoubt)]

    def idle(self) -> dict[TopicPartition, Offset]:
        """Return the partitions that may be planned, with their positions."""
        return {p: it.state.value.offset for p, it in self._partitions.items() if isinstance(it.state, Idle)}

    def looked_ahead(self, partition: TopicPartition) -> bool:
        """Whether the bucket was asked that nothing is stored behind the position of an idle partition."""
        state = self._partitions[partition].state
        return isinstance(state, Idle) and state.looked_ahead

    def positions(self) -> dict[TopicPartition, Offset]:
        """Return the committed position of every partition where it is known, of held ones too."""
        values = ((p, protocol.value_of(it.state)) for p, it in self._partitions.items())
        return {p: value.offset for p, value in values if value is not None}

    def topic_id(self, partition: TopicPartition) -> str | None:
        found = self._partitions.get(partition)
        return found.topic_id if found else None

    def describe(self, partition: TopicPartition, topic_id: str | None) -> None:
        """Take in which topic of its name the partition is of."""
        self._partitions[partition].topic_id = topic_id

    def held(self) -> dict[TopicPartition, Hold]:
        return {p: it.state.hold for p, it in self._partitions.items() if isinstance(it.state, Held)}

    def hold(self, partition: TopicPartition, hold: Hold) -> None:
        self.step(partition, Block(hold))

    def pending(self) -> list[Intent]:
        """Return the intents that stand in the register, of held partitions too."""
        intents = (it.intent(p) for p, it in self._partitions.items())
        return [intent for intent in intents if intent is not None]

    # execution

    def runnable(self, now: float) -> Iterator[tuple[Range, Intent]]:
        """Yield the promised ranges that wait to be executed and do not back off, each with its intent."""
        for it in self._partitions.values():
            if isinstance(it.state, Pending) and now >= it.attempts.retry_at:
                for range_ in it.state.runnable():
                    if range_ not in it.attempts.running:
                        yield range_, it.state.intent

    def promise_of(self, range_: Range) -> Pending | None:
        """Return the pending promise of a range, if it still stands."""
        found = self._partitions.get(range_.partition)
        if found is None or not isinstance(found.state, Pending) or range_ not in set(found.state.intent.ranges()):
            return None
        return found.state

    def may_run_again(self, partition: TopicPartition) -> bool:
        """Whether ranges of the pending intent may have been executed before: by another member, or without success."""
        return self._partitions[partition].attempts.again

    def is_stuck(self, partition: TopicPartition) -> bool:
        """Whether the partition is held, or the last execution of one of its ranges failed."""
        found = self._partitions[partition]
        return isinstance(found.state, Held) or found.attempts.failures > 0

    def failures(self, partition: TopicPartition) -> int:
        """Return how often in a row the execution of its ranges has failed."""
        return self._partitions[partition].attempts.failures

    def running(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether a range of any of these partitions is being executed."""
        return any(self._partitions[p].attempts.running for p in partitions if p in self._partitions)

    def started(self, range_: Range) -> None:
        self._partitions[range_.partition].attempts.started(range_)

    def succeeded(self, range_: Range, token: int, newest: NewestEvent | None = None) -> None:
        """Take in that a range, whose newest event it was, is stored by an execution that was started under a token."""
        found = self._partitions.get(range_.partition)
        if found is not None and found.token == token:
            found.attempts.succeeded(range_)
            self.step(range_.partition, Stored(range_, newest))

    def failed(self, range_: Range, token: int, retry_at: Callable[[int], float]) -> None:
        """Take in that an execution has failed; ``retry_at`` gives, by the failures in a row, when to try again."""
        found = self._partitions.get(range_.partition)
        if found is not None and found.token == token:
            found.attempts.failed(range_, retry_at)
