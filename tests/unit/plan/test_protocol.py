"""The state machine by itself: each step, and that nothing is written that would break the protocol."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from logpersister.plan.holds import HoldReason
from logpersister.plan.intents import CommittedOffset, Intent, OffsetMetadata, UnstoredPrefix, promised, stored
from logpersister.plan.protocol import Protocol, ProtocolError, is_stale
from logpersister.plan.states import Held, Idle, InDoubt, Pending, State, Unresolved, Write
from logpersister.ranges import NewestEvent, Range, TopicPartition

CLICKS = TopicPartition("clicks", 0)
PROTOCOL = Protocol(CLICKS, generation=1)
AT_0 = stored(0, "id", 1, since=0)
IDLE = Idle(AT_0, looked_ahead=True)


def intent(
    *ends: int,
    start: int = 0,
    revision: str = "rev",
    unstored: UnstoredPrefix | None = None,
    horizon: int | None = None,
) -> Intent:
    return Intent(CLICKS, "id", start, ends, revision, 1, "logs/raw", unstored, horizon)


def promise_of(
    *ends: int, start: int = 0, unstored: UnstoredPrefix | None = None, horizon: int | None = None
) -> Pending:
    made = intent(*ends, start=start, unstored=unstored, horizon=horizon)
    return Pending(promised(made, 0), made, looked_ahead=True)


def play(state: State, *events: Event) -> State:
    for event in events:
        state, _ = PROTOCOL.step(state, event)
    return state


def written_after(state: State, event: Event) -> CommittedOffset | None:
    _, effects = PROTOCOL.step(state, event)
    return next((effect.value for effect in effects if isinstance(effect, Write)), None)


# promise, effect, commit


def newest(time: int, field: str = "field") -> NewestEvent:
    return NewestEvent(field, time)


def seen(value: CommittedOffset | None) -> tuple[int, NewestEvent | None]:
    assert value is not None
    assert value.metadata is not None
    return value.offset, value.metadata.seen


def test_the_newest_event_of_another_field_begins_anew() -> None:
    state = Pending(promised(intent(10), 0, newest(90)), intent(10))
    assert seen(written_after(state, Stored(Range(CLICKS, 0, 10), newest(50, "other")))) == (10, newest(50, "other"))
    assert seen(written_after(state, Stored(Range(CLICKS, 0, 10)))) == (10, newest(90))


def test_the_newest_event_survives_a_commit_without_an_answer_and_a_loss() -> None:
    promise = Pending(promised(intent(10, 20), 0, newest(5)), intent(10, 20))
    state = play(promise, Stored(Range(CLICKS, 0, 10), newest(50)))
    assert seen(written_after(state, Gone(15))) == (10, newest(50))
    (write,) = PROTOCOL.owed(state)
    assert isinstance(write, Write)
    resolved = Resolved(write.value, write.value, "id")
    state = play(state, Unanswered(write.value), Stored(Range(CLICKS, 10, 20), newest(40)))
    assert seen(written_after(state, resolved)) == (20, newest(50))


def test_a_new_generation_says_where_it_began() -> None:
    theirs = Idle(stored(40, "id", 1, since=5), looked_ahead=True)
    raised = Protocol(CLICKS, generation=2)
    _, (write,) = raised.step(theirs, Due(replace(intent(50, start=40), generation=2)))
    assert isinstance(write, Write)
    assert write.value.metadata is not None
    assert write.value.metadata.since == 40


def test_after_a_promise_of_a_higher_generation_the_register_is_read_again() -> None:
    theirs = replace(intent(10), generation=2)
    done = play(Pending(promised(theirs), theirs), Stored(Range(CLICKS, 0, 10)))
    (write,) = PROTOCOL.owed(done)
    assert isinstance(write, Write)
    assert isinstance(play(done, Acknowledged(write.value)), InDoubt)


# what is lost


def test_a_loss_that_is_known_is_not_promised_again() -> None:
    anew = promise_of(10, 20, unstored=UnstoredPrefix(10, "lost"))
    assert written_after(anew, Gone(10)) is None
    assert written_after(anew, Gone(12)) == promised(intent(10, 20, unstored=UnstoredPrefix(12, "lost")), since=0)
    assert written_after(anew, Gone(99)) == promised(intent(10, 20, unstored=UnstoredPrefix(20, "lost")), since=0)


# answers


def test_a_write_without_an_answer_leaves_two_possibilities_and_what_is_stored() -> None:
    promise = play(promise_of(10, 20), Stored(Range(CLICKS, 0, 10)))
    (write,) = PROTOCOL.owed(promise)
    assert isinstance(write, Write)
    doubted = play(promise, Unanswered(write.value), Stored(Range(CLICKS, 10, 20)))
    assert not is_stale(doubted, write.value, "id")
    assert not is_stale(doubted, promised(intent(10, 20), since=0), "id")
    assert is_stale(doubted, AT_0, "id"), "older than the promise"
    assert is_stale(doubted, None, "id")
    assert not is_stale(doubted, None, "another"), "a topic that was made again has a register of its own"
    arrived = play(doubted, Resolved(write.value, write.value, "id"))
    assert PROTOCOL.owed(arrived) == (Write(stored(20, "id", 1, revision="rev", since=0)),)


def test_what_was_not_sent_changes_nothing() -> None:
    state, _ = PROTOCOL.step(IDLE, Due(intent(10)))
    assert state == IDLE


# how to go on


def test_nothing_is_planned_before_the_bucket_was_looked_at() -> None:
    with pytest.raises(ProtocolError, match="is promised while"):
        PROTOCOL.step(Idle(AT_0), Due(intent(10)))
    assert play(Idle(AT_0), LookedAhead(None)) == IDLE
    held = play(Idle(AT_0), LookedAhead(40))
    assert isinstance(held, Held)
    assert held.hold.reason is HoldReason.OFFSET_WENT_BACK
    assert "begins at 40" in held.hold.message


def test_a_promise_that_cannot_be_kept_where_it_was_made_is_resolved_again_with_its_boundaries() -> None:
    again = play(promise_of(10, 20), Reconsider())
    read = promised(intent(10, 20), since=0)
    elsewhere = promised(replace(intent(10, 20, revision="ours"), place="logs/ours"), since=0)
    state, effects = PROTOCOL.step(again, Resolved(read, elsewhere, "id"))
    assert effects == (Write(elsewhere),)
    kept = play(state, Stored(Range(CLICKS, 0, 10)), Acknowledged(elsewhere))
    assert isinstance(kept, Pending)
    assert kept.done == frozenset(), "what is stored there only is not ours"
    with pytest.raises(ProtocolError, match="must not replace"):
        PROTOCOL.step(again, Resolved(read, promised(intent(15, 20), since=0), "id"))


def test_a_held_partition_stays_as_it_is_until_a_person_decides() -> None:
    held = play(promise_of(10), Block(holds.data_lost(CLICKS, 0, 5)))
    assert held == Held(holds.data_lost(CLICKS, 0, 5), promised(intent(10), since=0))
    for event in (Stored(Range(CLICKS, 0, 10)), Due(intent(10)), Unanswered(AT_0), Reconsider()):
        assert PROTOCOL.step(held, event) == (held, ())


# what is never written


@pytest.mark.parametrize(
    "value",
    [
        promised(intent(10, 25), since=0),
        promised(intent(20), since=0),
        promised(intent(20, start=10), since=0),
        promised(intent(20, start=5), since=0),
        stored(10, "id", 1),
        stored(20, "id", 1),
        stored(0, "id", 1),
    ],
    ids=["other end", "one range", "passed without proof", "no boundary", "forgets", "passes all", "gives up"],
)
def test_a_promise_is_replaced_by_nothing_that_forgets_a_boundary_or_passes_what_is_not_settled(
    value: CommittedOffset,
) -> None:
    with pytest.raises(ProtocolError, match="must not replace"):
        PROTOCOL.step(promise_of(10, 20), Acknowledged(value))


@pytest.mark.parametrize("start", [1, 9])
def test_nothing_is_promised_elsewhere_than_at_the_offset(start: int) -> None:
    with pytest.raises(ProtocolError, match="must not replace"):
        PROTOCOL.step(IDLE, Due(intent(10, start=start)))


def test_a_state_that_contradicts_itself_is_not_worked_with() -> None:
    wrong = replace(promise_of(10), intent=intent(11))
    with pytest.raises(ProtocolError, match="contradicts itself"):
        PROTOCOL.step(wrong, Recorded(UnstoredPrefix(5, "lost")))


_values = st.sampled_from(
    [
        AT_0,
        stored(10, "id", 1),
        stored(20, "id", 2),
        promised(intent(10, 20)),
        promised(intent(20, start=10)),
        promised(intent(10, 20, unstored=UnstoredPrefix(15, "lost"))),
        CommittedOffset(10, OffsetMetadata("other", 1)),
        CommittedOffset(5, None),
    ]
)
_events = st.one_of(
    st.builds(Acknowledged, _values),
    st.builds(Unanswered, _values),
    st.builds(Resolved, st.none() | _values, _values, st.sampled_from(["id", "other"])),
    st.builds(LookedAhead, st.none() | st.integers(0, 30)),
    st.builds(Due, st.sampled_from([intent(10), intent(10, 20), intent(20, start=10)])),
    st.builds(Gone, st.integers(0, 30)),
    st.builds(Stored, st.sampled_from([Range(CLICKS, 0, 10), Range(CLICKS, 10, 20), Range(CLICKS, 3, 4)])),
    st.builds(Recorded, st.builds(UnstoredPrefix, st.sampled_from([10, 15, 20]), st.just("lost"))),
    st.just(Reconsider()),
)


@given(st.lists(_events, max_size=12))
def test_whatever_happens_a_state_is_sound_and_its_offset_moves_over_settled_ranges_only(events: list[Event]) -> None:
    """Each step leads to a state of the five, or is refused before anything is written."""
    state: State = Unresolved()
    for event in events:
        before = state
        try:
            state, effects = PROTOCOL.step(state, event)
        except ProtocolError:
            continue
        for effect in effects:
            if isinstance(before, Pending) and isinstance(state, Pending) and isinstance(effect, Write):
                assert effect.value.offset <= state.settled()
                assert effect.value.offset in (state.intent.start, *state.intent.ends)
