"""The protocol of one partition: why every record ends up in exactly one object. Pure: no clock, no I/O.

**The register.** The committed offset of a partition, with its metadata, is one register in Kafka, and this member
knows its *value* (`CommittedOffset`). The value is all that has to survive a crash: whoever reads it knows where the
partition stands and what was promised. The register is read and written through one membership session, fenced both
ways (group/register.py), so at any moment at most one process can write it, and what that process has read is what
stands there. *No effect outside this process rests on a read that is not fenced.*

**One order for everything: promise, effect, commit.** A value with ends promises ranges; so do the records of what is
lost or skipped, which are the `UnstoredPrefix` of an intent. Only what the register promises has an effect on the
bucket, and the register moves on only over what has taken effect::

    Unresolved ──Resolved──► Idle ──Due──► Pending ──Stored, Recorded──► Idle
                               │            │  ▲
             a write without   └──────►     ▼  │ Resolved          any state ──Block──► Held
             an answer                     InDoubt

**The proof.** Let a *boundary* be the start or an end of a promised range.

1. A promise is written once, at the offset that stands in the register (`_check_write`), so it begins where everything
   before is settled: stored, or recorded as lost or skipped.
2. From then on its boundaries stand in the register until the offset has passed them. A promise is only ever replaced
   by one with the same boundaries: under another revision for another place, or with an unstored prefix.
3. So whoever executes a range, now, later, or as a zombie, executes the same range. Name and content of its objects
   follow from the range, the records, the revision and the horizon, which stays with the boundaries: a repeated
   execution replaces an object by itself.
4. The offset moves from boundary to boundary, over settled ranges only. So before the offset every record is in an
   object, or recorded as lost or skipped, and behind it only objects of the one pending promise can be.
5. What a fenced read cannot exclude is that Kafka itself shows an older value than it has acknowledged: an unclean
   election, a restored cluster, or a coordinator that has not heard of its successor, in the very group generation that
   this member is in. Three checks catch that: an answer that is older than what this process has seen acknowledged is
   not taken (`is_stale`); metadata counts only beside the offset that it was written with (`plan/intents.py`); and
   nothing new is promised before the bucket was asked for objects at or behind the offset (`LookedAhead`).

`_check_write` asserts 1, 2 and 4 for every value before it is sent and after it was acknowledged, in production too: a
partition that would break them is held. The model (tests/model) runs this module against a hostile world.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from logpersister.plan import holds
from logpersister.plan.events import (
    Acknowledged,
    Block,
    Due,
    Event,
    Gone,
    LookedAhead,
    Reconsider,
    Recorded,
    Resolved,
    Stored,
    Unanswered,
)
from logpersister.plan.holds import Hold
from logpersister.plan.intents import CommittedOffset, Intent, UnstoredPrefix, promised, same_topic, stored
from logpersister.plan.states import Effect, Held, Idle, InDoubt, Pending, Record, State, Unresolved, Write
from logpersister.ranges import NewestEvent, Offset, Range, TopicPartition


class ProtocolError(AssertionError):
    """A value would break the protocol. Nothing was sent; the partition must be held."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """The state machine of one partition, as a member of a generation plays it."""

    partition: TopicPartition
    generation: int

    def step(self, state: State, event: Event) -> tuple[State, tuple[Effect, ...]]:
        """Return the state after an event, and what has to be done now.

        An event that concerns a state which is over changes nothing. Raises ProtocolError.
        """
        new, proposed = self._step(state, event)
        _check_state(self.partition, new)
        return new, (Write(proposed),) if proposed is not None else self.owed(new)

    def owed(self, state: State) -> tuple[Effect, ...]:
        """Return what a state wants, whatever has led to it, besides that its ranges run."""
        if not isinstance(state, Pending):
            return ()
        if state.intent.unstored is not None and not state.recorded:
            return (Record(state.intent, state.intent.unstored, tuple(state.lost())),)
        settled = state.settled()
        return (Write(self._checked(state, _progress(state, settled))),) if settled > state.intent.start else ()

    def _step(  # noqa: C901, PLR0911, PLR0912 - the table of the state machine
        self, state: State, event: Event
    ) -> tuple[State, CommittedOffset | None]:
        match state, event:
            case Held(), _:
                return state, None
            case _, Block(hold):
                return Held(hold, value_of(state)), None
            case _, Acknowledged(value):
                return self._acknowledged(state, value), None
            case _, Unanswered(value):
                return self._in_doubt(state, value), None
            case ((Unresolved() | InDoubt()), Resolved(read, target, topic_id)):
                if is_stale(state, read, topic_id):
                    raise ProtocolError(f"{self.partition}: {read} is older than what {state} has seen")
                return self._resolved(state, read, target, topic_id)
            case InDoubt(before=Pending() as before), Stored(range_, newest):
                return replace(state, before=_with_done(before, range_, newest)), None
            case Idle(), LookedAhead(None):
                return replace(state, looked_ahead=True), None
            case Idle(value), LookedAhead(int(found)):
                return Held(holds.offset_went_back(self.partition, value.offset, found, self.generation), value), None
            case Idle(value, looked_ahead=True), Due(intent):
                return state, self._checked(state, promised(intent, _since(value, intent), value.seen))
            case Pending(), Gone():
                return self._lost_in_promise(state, event)
            case Pending(), Stored(range_, newest):
                return _with_done(state, range_, newest), None
            case Pending(intent=Intent(unstored=unstored)), Recorded(recorded) if recorded == unstored:
                return replace(state, recorded=True), None
            case Pending(value), Reconsider():
                return InDoubt(frozenset({value}), state), None
            case ((Idle(looked_ahead=False) | Pending() | InDoubt() | Unresolved()), Due(intent)):
                raise ProtocolError(f"{intent} is promised while {self.partition} is {state}")
        return state, None

    # the register

    def _resolved(
        self,
        state: Unresolved | InDoubt,
        read: CommittedOffset | None,
        target: CommittedOffset | Hold,
        topic_id: str | None,
    ) -> tuple[State, CommittedOffset | None]:
        if isinstance(target, Hold):
            return Held(target, read), None
        if target == read:
            return self._adopt(target, state), None
        if read is not None and read.metadata is not None and same_topic(read.metadata.topic_id, topic_id):
            _check_write(self.partition, read, read.offset, target)
        return state, target

    def _adopt(self, value: CommittedOffset, before: State) -> State:
        """Return the state that a value means. What this process knows of the same intent stays known."""
        known = before.before if isinstance(before, InDoubt) else before
        looked_ahead = isinstance(known, Idle | Pending) and known.looked_ahead
        intent = value.intent(self.partition)
        if intent is None:
            idle = Idle(value, looked_ahead)
            theirs = value.metadata is not None and value.metadata.generation > self.generation
            # A higher generation may be replaying what ours has stored: the bucket tells whether we may go on.
            return InDoubt(frozenset({value}), idle) if theirs else idle
        if isinstance(known, Pending) and _continues(known.intent, intent):
            recorded = known.recorded and known.intent.unstored == intent.unstored
            kept = known.done & set(intent.ranges())
            newest = frozenset(one for one in known.newest if one[0] in kept)
            return Pending(value, intent, kept, newest, recorded, looked_ahead)
        return Pending(value, intent, looked_ahead=looked_ahead)

    def _acknowledged(self, state: State, value: CommittedOffset) -> State:
        known = value_of(state)
        if isinstance(state, Idle | Pending) and known is not None:
            settled = state.settled() if isinstance(state, Pending) else known.offset
            _check_write(self.partition, known, settled, value)
        return self._adopt(value, state)

    def _in_doubt(self, state: State, value: CommittedOffset) -> State:
        match state:
            case Idle(known) | Pending(known):
                return InDoubt(frozenset({known, value}), state)
            case InDoubt(possible):
                return replace(state, possible=possible | {value})
        return state  # what stands there was not known before either

    def _checked(self, state: Idle | Pending, value: CommittedOffset) -> CommittedOffset:
        settled = state.settled() if isinstance(state, Pending) else state.value.offset
        _check_write(self.partition, state.value, settled, value)
        return value

    # what Kafka has lost

    def _lost_in_promise(self, state: Pending, gone: Gone) -> tuple[State, CommittedOffset | None]:
        """Promise what is left of an intent anew, with an unstored prefix. Ranges that are stored are no part of it."""
        end = min(gone.log_start, state.intent.end)
        left = state.intent.after(state.settled())
        if left is None or end <= left.start or (left.unstored is not None and left.unstored.end >= end):
            return state, None
        anew = replace(left, unstored=UnstoredPrefix(end, "lost"))
        since = state.value.metadata.since if state.value.metadata is not None else None
        return state, self._checked(state, promised(anew, since, state.seen(left.start)))


def written(effects: Iterable[Effect]) -> CommittedOffset | None:
    """Return the value that is to be written, if any."""
    return next((effect.value for effect in effects if isinstance(effect, Write)), None)


def value_of(state: State) -> CommittedOffset | None:
    """Return the value that stands in the register, where it is known."""
    match state:
        case Idle(value) | Pending(value):
            return value
        case Held(_, value):
            return value
    return None


def newest(state: State) -> CommittedOffset | None:
    """Return the newest value that this process has seen acknowledged."""
    match state:
        case Unresolved(seen):
            return seen
        case InDoubt(before=before):
            return before.value
    return value_of(state)


def is_new_promise(before: State, after: State) -> bool:
    """Whether there is another promise to keep than before."""
    known = before.before if isinstance(before, InDoubt) else before
    if not isinstance(after, Pending):
        return False
    if not isinstance(known, Pending) or not _continues(known.intent, after.intent):
        return True
    return known.intent.unstored != after.intent.unstored and after.intent.unstored is not None


def is_stale(state: State, read: CommittedOffset | None, topic_id: str | None) -> bool:
    """Whether an answer is older than what this process has seen: it must not be taken, but asked for again.

    While a partition is ours nobody else writes its register, so one of the possible values stands there. While it was
    not, others may have moved it, but no member of our generation ever moves it back. A topic that was made again
    (``topic_id`` is another) has a register of its own.
    """
    seen = newest(state)
    if seen is None or seen.metadata is None or not same_topic(seen.metadata.topic_id, topic_id):
        return False
    if isinstance(state, InDoubt):
        return read not in state.possible
    if read is None or read.metadata is None or not same_topic(seen.metadata.topic_id, read.metadata.topic_id):
        return False
    return seen.metadata.generation == read.metadata.generation and read.offset < seen.offset


def _check_write(partition: TopicPartition, before: CommittedOffset, settled: Offset, after: CommittedOffset) -> None:
    """Raise ProtocolError unless ``after`` may replace ``before``, of which everything up to ``settled`` is settled."""
    old, new = before.intent(partition), after.intent(partition)
    if old is None:
        legal = after.offset == before.offset
    else:
        legal = after.offset in (old.start, *(end for end in old.ends if end <= settled))
        legal = legal and tuple(end for end in old.ends if end > after.offset) == (new.ends if new else ())
        legal = legal and (new is None or new.place != old.place or new.horizon == old.horizon)
    if not legal:
        raise ProtocolError(f"{partition}: {after} must not replace {before}, which is settled up to {settled}")


def _progress(state: Pending, offset: Offset) -> CommittedOffset:
    left, intent = state.intent.after(offset), state.intent
    since = state.value.metadata.since if state.value.metadata is not None else None
    if left is not None:
        return promised(left, since, state.seen(offset))
    return stored(
        offset, intent.topic_id, intent.generation, revision=intent.revision, since=since, seen=state.seen(offset)
    )


def _with_done(state: Pending, range_: Range, newest: NewestEvent | None) -> Pending:
    if range_ not in set(state.intent.ranges()):
        return state
    known = frozenset() if newest is None else frozenset({(range_, newest)})
    return replace(state, done=state.done | {range_}, newest=state.newest | known)


def _check_state(partition: TopicPartition, state: State) -> None:
    match state:
        case Idle(value):
            sound = value.metadata is not None and not value.metadata.ends
        case Pending(value, intent, done):
            sound = value.intent(partition) == intent and done <= set(intent.ranges())
        case _:
            sound = True
    if not sound:
        raise ProtocolError(f"{partition}: {state} contradicts itself")


def _since(value: CommittedOffset, intent: Intent) -> Offset | None:
    """Return where the generation of a new intent began: at the intent, unless the partition was in it before."""
    metadata = value.metadata
    return metadata.since if metadata is not None and metadata.generation == intent.generation else intent.start


def _continues(before: Intent, now: Intent) -> bool:
    """Whether ``now`` is what is left of ``before``: what was stored of one is stored of the other."""
    return _identity(before) == _identity(now)


def _identity(intent: Intent) -> tuple[object, ...]:
    return intent.topic_id, intent.revision, intent.generation, intent.place, intent.horizon, intent.end
