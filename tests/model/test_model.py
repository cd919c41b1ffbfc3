"""Every record in exactly one object, whatever happens in between. A longer run: ``python -m tests.model``."""

import subprocess
import sys

import pytest

from tests.model.histories import MOODS, play

HISTORIES = 200
"""Of each mood."""
BLOCK = 50


@pytest.mark.parametrize("mood", MOODS)
@pytest.mark.parametrize("first", range(0, HISTORIES, BLOCK))
def test_the_promise_holds(first: int, mood: str) -> None:
    for seed in range(first, first + BLOCK):
        play(seed, mood)


@pytest.mark.parametrize("mood", MOODS)
def test_a_story_can_be_told_again_from_its_seed(mood: str) -> None:
    """In another process too, where strings have other hashes."""
    command = [sys.executable, "-m", "tests.model", "--seed", "3", "--mood", mood]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told.strip() == play(3, mood)
