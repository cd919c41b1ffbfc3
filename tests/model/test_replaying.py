"""What random histories find in replays, switches and readers that are broken."""

from contextlib import ExitStack

import pytest

from tests.model.chronicle import Violation
from tests.model.histories import play
from tests.model.replay_mutants import MUTANTS, Patches

MOST_HISTORIES = 100


@pytest.mark.parametrize(("patches", "first_seed"), MUTANTS.values(), ids=MUTANTS)
def test_a_broken_replay_or_switch_is_caught(patches: Patches, first_seed: int) -> None:
    with ExitStack() as stack, pytest.raises(Violation, match="BROKEN: "):
        for patched in patches():
            stack.enter_context(patched)
        for seed in range(first_seed, first_seed + MOST_HISTORIES):
            play(seed, "replaying")
