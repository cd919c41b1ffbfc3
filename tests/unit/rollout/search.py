"""All that may happen within bounds, and much by chance beyond them."""

import random
from collections import deque
from dataclasses import dataclass

from logpersister_operator.rollout.invariants import RolloutError
from tests.unit.rollout.happenings import adversity, course_of, successors
from tests.unit.rollout.world import BrokenError, World, check_end

ADVERSITY = 0.3
"""How often a history by chance is struck."""


@dataclass
class Found:
    """What a search went through."""

    worlds: int = 0


def explore(start: World, *, most: int = 200_000) -> Found:
    """Go through every world that can come of this one; raises BrokenError with the way to a broken promise."""
    found = Found()
    came: dict[object, tuple[object, str] | None] = {start.key(): None}
    waiting = deque([(start, start.key())])
    ends: set[object] = set()
    while waiting:
        world, key = waiting.popleft()
        found.worlds += 1
        assert found.worlds <= most, "more worlds than were thought"
        what = "everything takes its course"
        try:
            _check_course(world, ends)
            for name, other in successors(world):
                what = name
                following = other.key()
                if following not in came:
                    came[following] = (key, name)
                    waiting.append((other, following))
        except (RolloutError, BrokenError) as error:
            raise BrokenError(f"{error}\nafter " + "\n      ".join([*_way(came, key), what])) from error
    return found


def _check_course(world: World, known: set[object]) -> None:
    """Check where a world comes to rest, unless its way leads to one whose end is known."""
    mine: set[object] = set()
    before = None
    for following in world.course():
        key = following.key()
        if key == before:
            check_end(following)
            break
        if key in mine:
            raise BrokenError(f"it goes round for ever: {following.record}")
        if key in known:
            break
        mine.add(key)
        before = key
    known |= mine


def _way(came: dict[object, tuple[object, str] | None], key: object) -> list[str]:
    names = []
    while (step := came[key]) is not None:
        key, name = step
        names.append(name)
    return names[::-1]


def wander(start: World, seed: int, steps: int) -> World:
    """Go one way by chance; raises BrokenError with the way to a broken promise."""
    chance, world, names = random.Random(seed), start, []
    try:
        for _ in range(steps):
            striking = list(adversity(world)) if chance.random() < ADVERSITY else []
            name, world = chance.choice(striking or list(course_of(world)))
            names.append(name)
        check_end(world.settle())
    except (RolloutError, BrokenError) as error:
        raise BrokenError(f"{error}\nseed {seed}, after " + "\n      ".join(names[-40:])) from error
    return world
