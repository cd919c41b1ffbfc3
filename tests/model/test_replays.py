"""No interleaving of replays, a crash and a member loses or repeats a record; broken replays are caught."""

from itertools import chain

import pytest

from logpersister.replay.protocol import Step, next_step
from logpersister.storage.replays import Replay, Source
from tests.model.replays import ORIGINAL, Replayer, Rules, ViolationError, World, explore


def _deletes_first(source: Source | None, note: Replay | None, *, is_live: bool) -> Step:
    begun = note is not None and not note.settled
    return Step.DELETE if begun and source is not None else next_step(source, note, is_live=is_live)


def _begins_again(source: Source | None, note: Replay | None, *, is_live: bool) -> Step:
    again = note is not None and note.settled and source is not None
    return Step.BEGIN if again else next_step(source, note, is_live=is_live)


MUTANTS = {
    "deletes first": Rules(decide=_deletes_first),
    "settles before it has written": Rules(settles_last=False),
    "begins over the note of another": Rules(begins_if_absent=False),
    "writes under its own revision": Rules(follows_the_note=False),
    "replays again what was settled": Rules(decide=_begins_again, begins_if_absent=False),
    "looks at the note before the source": Rules(looks_at_source_first=False),
    "replays what a replay that is not settled has refused": Rules(waits_for_the_replay_before=False),
}


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


@pytest.mark.parametrize("rules", MUTANTS.values(), ids=MUTANTS)
def test_broken_replays_are_caught(rules: Rules) -> None:
    with pytest.raises(ViolationError):
        explore(World(rules))
