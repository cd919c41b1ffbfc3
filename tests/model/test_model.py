"""Every record in exactly one object, whatever happens in between. A longer run: ``python -m tests.model``."""

import pytest

from tests.model.world import MOODS, play

HISTORIES = 300
"""Of each mood."""
BLOCK = 50


@pytest.mark.parametrize("mood", MOODS)
@pytest.mark.parametrize("first", range(0, HISTORIES, BLOCK))
def test_the_promise_holds(first: int, mood: str) -> None:
    for seed in range(first, first + BLOCK):
        play(seed, mood)


def test_a_story_can_be_told_again() -> None:
    assert play(3, "losing") == play(3, "losing")
