"""Every record in exactly one object, whatever happens in between. A longer run: ``make model``."""

import subprocess
import sys

import pytest

from tests.model.chronicle import Violation
from tests.model.histories import MOODS, play
from tests.model.rules import Rules
from tests.model.shrinking import minimal, shrunk

HISTORIES = 80
"""Of each mood; `make soak` plays thousands."""
BLOCK = 40
BLOCKS = [
    (mood, first) for mood in MOODS for first in range(0, HISTORIES, BLOCK) if (mood, first) != ("replaying", BLOCK)
]
"""Replays take twice as long as anything else, and `test_replaying.py` plays many more."""
FOUND = {
    "an object of a topic that was deleted is taken for one behind a commit that was lost": (9017, "remaking"),
    "where the group begins is asked for by time, of a partition without a leader": (9566, "losing"),
}
"""Histories, by seed and mood, that have shown a fault of the product or of this model."""

_ALL_STORIES = """
import sys
from tests.model.__main__ import MOODS, main
for mood in MOODS:
    sys.argv[1:] = ["--seed", "3", "--mood", mood]
    main()
"""


@pytest.mark.parametrize(("mood", "first"), BLOCKS)
def test_the_promise_holds(mood: str, first: int) -> None:
    for seed in range(first, first + BLOCK):
        try:
            play(seed, mood)
        except Violation:
            raise shrunk(seed, mood) from None


@pytest.mark.parametrize(("seed", "mood"), FOUND.values(), ids=FOUND)
def test_what_was_found_once_holds(seed: int, mood: str) -> None:
    play(seed, mood)


def test_a_story_can_be_told_again_from_its_seed() -> None:
    """By the command, in another process too, where strings have other hashes."""
    told = subprocess.run([sys.executable, "-c", _ALL_STORIES], check=True, capture_output=True, text=True).stdout
    assert told == "".join(f"{play(3, mood)}\n" for mood in MOODS)


def test_a_story_is_told_without_what_takes_no_part() -> None:
    """And what is left can be played by the command that stands above it."""
    lossy = Rules(losses_are_recorded=False)
    seed = next(seed for seed in range(1000) if _breaks(seed, lossy))
    violation = str(shrunk(seed, "losing", lossy))
    told, _, promise = violation.partition("\n\nBROKEN: ")
    assert "is in no object" in promise
    command, *events = told.splitlines()
    kept = [int(step) for step in command.rpartition("--only ")[2].split(",")]
    assert len(kept) < 40
    assert len(events) < 60
    with pytest.raises(Violation) as again:
        play(seed, "losing", lossy, without=frozenset(range(400)) - set(kept))
    assert str(again.value) == violation


def _breaks(seed: int, rules: Rules) -> bool:
    try:
        play(seed, "losing", rules)
    except Violation:
        return True
    return False


def test_what_is_left_out_is_all_that_can_be() -> None:
    asked: list[int] = []

    def holds(part: object) -> bool:
        assert isinstance(part, list)
        asked.append(len(part))
        return {3, 17, 18, 90} <= set(part)

    assert minimal(range(100), holds) == [3, 17, 18, 90]
    assert len(asked) < 100
