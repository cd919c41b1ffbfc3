"""Every order of events in small worlds, and long histories by chance in larger ones."""

from collections.abc import Mapping

import pytest

from logpersister.manifest.blocks.rollout import RolloutSpec, ShadowSpec
from tests.unit.rollout.search import explore, wander
from tests.unit.rollout.world import MINUTE, POLICY, Kind, World

RECREATE = POLICY.model_copy(update={"strategy": "Recreate"})
HALT = POLICY.model_copy(update={"on_failure": "Pause"})
_STEPS = [{"members": "50%", "pause": {}}, {"members": "75%", "pause": {"duration": "1m"}}]
STEPS = POLICY.model_copy(update={"steps": RolloutSpec.model_validate({"steps": _STEPS}).steps})
_SHADOW = ShadowSpec(group_id="shadows", prefix="shadows", duration=MINUTE, min_ranges=1)
SHADOW = POLICY.model_copy(update={"shadow": _SHADOW})


def steady(kinds: Mapping[str, Kind], policy: RolloutSpec = POLICY, members: int = 2, **budget: int) -> World:
    """Return a world in which A runs."""
    world = World(members=members, policy=policy, kinds=dict(kinds)).settle()
    world.budget = {name.replace("_", " "): number for name, number in budget.items()}
    world.late = budget.get("time", 0) > 2 or "abort" in budget
    return world


def broken(kind: Kind = "good", **budget: int) -> World:
    """Return a world in which A ran, and crashes now."""
    world = steady({"B": kind, "C": "good"})
    world.budget = budget
    world.kinds["A"] = "crashing"
    world.pods = dict.fromkeys(world.pods, "starting")
    return world


WORLDS = {
    "a good revision": steady({"B": "good"}, turn=1, time=2, death=1),
    "a crashing one": steady({"B": "crashing"}, turn=2, time=3),
    "one that cannot upload": steady({"B": "failing"}, turn=1, time=3, death=1),
    "one that hangs": steady({"B": "hanging"}, turn=1, time=3),
    "one that refuses records": steady({"B": "refusing"}, turn=1, time=3, death=1),
    "one that refuses as the old one does": steady({"A": "refusing", "B": "refusing"}, turn=1, time=2, death=1),
    "one that refuses a few": steady({"B": "tolerable"}, turn=1, time=2, outage=2),
    "a third one": steady({"B": "good", "C": "good"}, turn=2, time=1),
    "paused": steady({"B": "good"}, turn=1, pause=2),
    "a Secret is missing": steady({"B": "good"}, turn=1, block=2, time=1),
    "old news": steady({"B": "good"}, turn=1, old_news=1, promote=1, death=1),
    "another attempt": steady({"B": "crashing"}, turn=2, attempt=1, time=2),
    "an attempt that is taken back": steady({"B": "failing"}, turn=1, attempt=2, time=2),
    "aborted": steady({"B": "good"}, turn=1, abort=1, retry=1, death=1),
    "aborted in a shadow": steady({"B": "good"}, SHADOW, turn=1, abort=1, retry=1, time=1),
    "tried again": steady({"B": "crashing"}, HALT, turn=1, abort=1, retry=1, time=2),
    "an outage": steady({"B": "good"}, turn=1, outage=2, time=2),
    "another size": steady({"B": "good"}, turn=1, size=1, promote=1),
    "steps": steady({"B": "good"}, STEPS, turn=1, promote=1, time=2),
    "recreated": steady({"B": "good"}, RECREATE, turn=2, death=1),
    "recreated in vain": steady({"B": "crashing"}, RECREATE, turn=1, time=3),
    "halted": steady({"B": "crashing", "C": "good"}, HALT, turn=2, time=2),
    "a shadow of a good one": steady({"B": "good"}, SHADOW, turn=1, time=2, death=1),
    "a shadow that differs": steady({"B": "differing", "C": "good"}, SHADOW, turn=2, time=2),
    "a shadow that crashes": steady({"B": "crashing"}, SHADOW, turn=2, time=3, attempt=1),
    "a shadow that cannot upload": steady({"B": "failing"}, SHADOW, turn=1, time=3),
    "a shadow of an outage": steady({"B": "good"}, SHADOW, turn=1, time=2, outage=2),
    "a shadow that hangs": steady({"B": "hanging"}, SHADOW, turn=1, time=3),
    "a shadow that refuses records": steady({"B": "refusing"}, SHADOW, turn=1, time=3, death=1),
    "a shadow that refuses as the old one": steady({"A": "refusing", "B": "refusing"}, SHADOW, turn=1, time=2),
    "a shadow that is promoted": steady({"B": "good"}, SHADOW, turn=2, promote=1),
    "a shadow meets a third one": steady({"B": "good", "C": "good"}, SHADOW, turn=2, time=1),
    "a shadow that pauses": steady({"B": "good"}, SHADOW, turn=1, pause=2, time=1),
    "a shadow and old news": steady({"B": "good"}, SHADOW, turn=2, old_news=1, time=1),
    "a shadow of what runs already": steady({"B": "good"}, SHADOW, members=1, turn=3, time=1, death=1),
    "new": World(kinds={"B": "good"}, budget={"turn": 1, "time": 1, "death": 1}),
    "new and broken": World(kinds={"A": "crashing", "B": "good"}, budget={"turn": 1, "time": 1, "pause": 1}),
    "the old one is broken": broken(turn=2, time=1),
    "the old one is broken, the new one refuses": broken("refusing", turn=1, time=2),
}


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_all_that_may_happen(name: str) -> None:
    assert explore(WORLDS[name]) > 50


STRUCK = {
    "turn": 9, "time": 30, "death": 5, "pause": 2, "block": 2, "promote": 2, "attempt": 2, "outage": 2, "policy": 1,
    "abort": 2, "retry": 2,
}  # fmt: skip


def history(seed: int) -> World:
    bad: tuple[Kind, ...] = ("failing", "crashing", "hanging", "refusing")
    kinds: dict[str, Kind] = {"B": "good", "C": bad[seed % 4], "D": "tolerable" if seed % 2 else "good"}
    policy = (POLICY, STEPS, HALT, RECREATE, SHADOW)[seed % 5]
    canary = policy.canary.model_copy(update={"members": 1 + seed % 2})
    start = steady(kinds, policy.model_copy(update={"canary": canary}), members=3 + seed % 3)
    start.budget, start.late = STRUCK | ({"old news": 3} if seed % 7 == 0 else {}), True
    return wander(start, seed, 200)


@pytest.mark.parametrize("seed", range(24))
def test_long_histories(seed: int) -> None:
    history(seed)
