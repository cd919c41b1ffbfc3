"""Plays every path of a small world within bounds: stateless model checking, as CHESS does it.

A path is replayed from its beginning, since processes cannot be copied. Paths are taken by rising number of faults and
pauses, then of deviations, so the first one that breaks a promise is one of those with the fewest. A path ends early
where the world is as another path has seen it with at least as much left to happen: all that can come has been, or will
be, seen from there.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.exploring import explore
from tests.model.chronicle import Violation
from tests.model.fingerprint import fingerprint, remember
from tests.model.paths import Bounds, Branch, Deviations, Path
from tests.model.rules import Rules
from tests.model.scenes import Scene
from tests.model.small import Small, title


class Seen(Exception):  # noqa: N818 - it is a normal end
    """Another path has been here."""


@dataclass(slots=True)
class Explored:
    """What a search has come to."""

    schedules: int = 0
    """Paths that were played, to their end or until they met another one."""
    moments: set[int] = field(default_factory=set)
    """Fingerprints of the world whenever it was decided who goes on."""
    violation: Violation | None = None


class Search:
    """Explores one scene."""

    def __init__(
        self, scene: Scene, bounds: Sequence[Bounds], rules: Rules | None = None, *, prune: bool = True
    ) -> None:
        """Take what to explore: all paths that are within one of the bounds.

        Args:
            scene: the small world.
            bounds: how much may happen.
            rules: the laws of the world.
            prune: whether a path ends where another one has been.
        """
        self._scene = scene
        self._prune = prune
        self._bounds = bounds
        self._rules = rules
        self._seen: defaultdict[int, list[Bounds]] = defaultdict(list)
        self.explored = Explored()

    def run(self, most: int | None = None) -> Explored:
        """Play paths until none is left or one breaks a promise; at most so many."""
        beginnings = (Branch((), bounds) for bounds in self._bounds)
        for _ in explore(beginnings, lambda branch: (branch.spent, len(branch.deviations)), self._play):
            if self.explored.violation is not None or self.explored.schedules == most:
                break
        return self.explored

    def _play(self, branch: Branch) -> list[Branch]:
        """Play one path; return where others leave it."""
        path = _path(self._scene, branch)
        world = Small(self._scene, path, title(self._scene, branch.deviations), self._rules)
        world.before_turn = lambda member: remember(world, member)
        try:
            world.run(lambda: self._prune_or_remember(world))
        except Seen:
            pass
        except Violation as violation:
            self.explored.violation = violation
        finally:
            world.close()
        self.explored.schedules += 1
        return path.branches

    def _prune_or_remember(self, world: Small) -> None:
        if not world.path.is_new:
            return
        left, moment = world.path.left, fingerprint(world)
        self.explored.moments.add(moment)
        before = self._seen[moment]
        if self._prune and any(one.covers(left) for one in before):
            raise Seen
        before.append(left)


def _path(scene: Scene, branch: Branch) -> Path:
    return Path(branch, scene.faults, scene.bytes_per_record, log_changes=scene.log_changes)


def replay(scene: Scene, deviations: Deviations, rules: Rules | None = None) -> str:
    """Play one path to its end and return its story; raises Violation when a promise is broken."""
    path = _path(scene, Branch(deviations, Bounds(0, 0)))
    world = Small(scene, path, title(scene, deviations), rules)
    try:
        world.run(lambda: None)
        return world.chronicle.story()
    finally:
        world.close()
