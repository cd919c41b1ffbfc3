"""The promise, checked in a simulated world: every record in exactly one object, whatever happens in between."""

import pytest

from tests.model.world import World


@pytest.mark.parametrize("paths", [1, 2])
@pytest.mark.parametrize("seed", range(150))
def test_every_record_is_in_exactly_one_object(seed: int, paths: int) -> None:
    world = World(seed, paths=paths)
    world.join()
    for _ in range(150):
        world.step()
        world.check()
    world.settle()
    world.check()
