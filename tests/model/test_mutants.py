"""The model finds what it is there to find."""

import pytest

from tests.model.chronicle import Violation
from tests.model.histories import MOODS, play
from tests.model.mutants import MUTANTS, Mutant

MOST_HISTORIES = 1000


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_protocol_is_caught(mutant: Mutant) -> None:
    with mutant.at_large():
        for seed in range(MOST_HISTORIES):
            try:
                play(seed, mutant.mood or MOODS[seed % len(MOODS)], mutant.rules)
            except Violation as caught:
                story = str(caught)
                assert f"--seed {seed}" in story
                assert "BROKEN: " in story
                return
    pytest.fail(f"{mutant.name}: not caught in {MOST_HISTORIES} histories")
