"""No interleaving of replays, a crash and a member loses or repeats a record; broken replays are caught."""

from collections.abc import Callable
from itertools import chain

import pytest

from logpersister.replay.protocol import Step, next_step
from logpersister.storage.replays import Replay, Source
from tests.model.replays import ORIGINAL, Replayer, Rules, ViolationError, World, explore

MUTANTS: dict[str, Rules] = {}


def mutant(rules: Callable[[], Rules]) -> Callable[[], Rules]:
    MUTANTS[rules.__name__] = rules()
    return rules


@mutant
def deletes_first() -> Rules:
    def decide(source: Source | None, note: Replay | None, *, is_live: bool) -> Step:
        begun = note is not None and not note.settled
        return Step.DELETE if begun and source is not None else next_step(source, note, is_live=is_live)

    return Rules(decide=decide)


@mutant
def settles_before_it_has_written() -> Rules:
    return Rules(settles_last=False)


@mutant
def begins_over_the_note_of_another() -> Rules:
    return Rules(begins_if_absent=False)


@mutant
def writes_under_its_own_revision() -> Rules:
    return Rules(follows_the_note=False)


@mutant
def replays_again_what_was_settled() -> Rules:
    def decide(source: Source | None, note: Replay | None, *, is_live: bool) -> Step:
        again = note is not None and note.settled and source is not None
        return Step.BEGIN if again else next_step(source, note, is_live=is_live)

    return Rules(decide=decide, begins_if_absent=False)


@mutant
def looks_at_the_note_before_the_source() -> Rules:
    return Rules(looks_at_source_first=False)


@mutant
def replays_what_a_replay_that_is_not_settled_has_refused() -> Rules:
    return Rules(waits_for_the_replay_before=False)


def test_every_record_is_in_one_live_object_at_every_moment() -> None:
    states, ends = explore(World(Rules()))
    assert states > 5_000
    for bucket in set(ends):
        _, last = explore(World(Rules(), bucket, (Replayer("wide"),), crashes=0, rewrites=0))
        for after in last:
            stored = dict(after.objects)
            assert ORIGINAL not in stored
            folders = [records for path, records in stored.items() if path.startswith("folder/")]
            assert sorted(chain.from_iterable(folders)) == [1, 2]
            assert [sorted(records) for path, records in stored.items() if path.startswith("_quarantine/")] == [[0]]


@pytest.mark.parametrize("rules", MUTANTS.values(), ids=list(MUTANTS))
def test_broken_replays_are_caught(rules: Rules) -> None:
    with pytest.raises(ViolationError):
        explore(World(rules))
