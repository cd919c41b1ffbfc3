"""The model finds what it is there to find: by chance, and on the paths of small worlds."""

import pytest

from tests.model.chronicle import Violation
from tests.model.histories import MOODS, play
from tests.model.mutants import MUTANTS, Mutant
from tests.model.scenes import SCENES
from tests.model.search import Search

MOST_HISTORIES = 200
every_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)


@pytest.mark.parametrize("mutant", [it for it in MUTANTS if not it.is_rare], ids=lambda mutant: mutant.name)
def test_a_broken_protocol_is_caught_by_chance(mutant: Mutant) -> None:
    with mutant.at_large():
        for seed in range(mutant.first_seed, mutant.first_seed + MOST_HISTORIES):
            try:
                play(seed, mutant.mood or MOODS[seed % len(MOODS)], mutant.rules)
            except Violation as caught:
                story = str(caught)
                assert f"--seed {seed}" in story
                assert "BROKEN: " in story
                return
    pytest.fail(f"{mutant.name}: not caught in {MOST_HISTORIES} histories")


@pytest.mark.soak
@every_mutant
def test_a_broken_protocol_is_caught_in_a_small_world(mutant: Mutant) -> None:
    """Within the bounds within which the tests explore all of it."""
    scene = SCENES[mutant.scene]
    with mutant.at_large():
        violation = Search(scene, scene.bounds, mutant.rules).run().violation
    assert violation is not None
    assert "--deviations" in str(violation)
