"""All that may happen within bounds, and much by chance beyond them."""

import random
from dataclasses import dataclass

from logpersister_operator.rollout.invariants import RolloutError
from tests import exploring
from tests.unit.rollout.happenings import adversity, course_of, successors
from tests.unit.rollout.world import BrokenError, World, check_end

ADVERSITY = 0.3
"""How often a history by chance is struck."""
_MOST_WORLDS = 200_000
"""More are more than were thought."""


@dataclass(frozen=True)
class _Visit:
    """A world, and after how many events it was reached first."""

    world: World
    key: object
    events: int


def explore(start: World) -> int:
    """Go through every world that can come of this one; return how many. Raises BrokenError with the way to a fault."""
    came: dict[object, tuple[object, str] | None] = {start.key(): None}
    ends: set[object] = set()

    def follow(visit: _Visit) -> list[_Visit]:
        new: list[_Visit] = []
        what = "everything takes its course"
        try:
            _check_course(visit.world, ends)
            for name, other in successors(visit.world):
                what = name
                key = other.key()
                if key not in came:
                    came[key] = (visit.key, name)
                    new.append(_Visit(other, key, visit.events + 1))
        except (RolloutError, BrokenError) as error:
            raise BrokenError(f"{error}\nafter " + "\n      ".join([*_way(came, visit.key), what])) from error
        return new

    for _ in exploring.explore([_Visit(start, start.key(), 0)], lambda visit: visit.events, follow):
        assert len(came) <= _MOST_WORLDS
    return len(came)


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
