"""What the operator's settings cause reaches only so many resources at once, those of canary namespaces first."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.decide.decision import application_of, is_paused
from logpersister_operator.decide.revisions.rollout_turns import RolloutLimits, RolloutStanding, turn
from logpersister_operator.decide.validity import check
from logpersister_operator.observe.rollout_places import RolloutPlaces
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.plan import Plan
from tests.unit.kubernetes.samples import IMAGE, NOW, Life, condition, lag, pod, resource, verdict, waiting

NEW = "registry.example/logpersister:0.2.0"
CANARY = ResourceKey("staging", "a")
ONE, TWO = ResourceKey("data", "one"), ResourceKey("data", "two")
CANARIES_FIRST = "canary namespaces come first: a resource of another namespace"
WANTS, HOLDS, DONE, UNKNOWN = (
    RolloutStanding(wants=True),
    RolloutStanding(holds=True),
    RolloutStanding(),
    RolloutStanding(known=False),
)


@pytest.mark.parametrize(
    ("standings", "limits", "reason"),
    [
        ({ONE: WANTS, TWO: HOLDS}, RolloutLimits(2), ""),
        ({ONE: WANTS, TWO: HOLDS}, RolloutLimits(1), "at most 1 resource at once"),
        ({ONE: WANTS, TWO: HOLDS}, RolloutLimits(), ""),
        ({ONE: HOLDS, TWO: HOLDS}, RolloutLimits(1), ""),
        ({ONE: WANTS, TWO: UNKNOWN}, RolloutLimits(1), ""),
        ({ONE: WANTS, CANARY: WANTS}, RolloutLimits(9, ("stag*",)), CANARIES_FIRST),
        ({ONE: WANTS, CANARY: HOLDS}, RolloutLimits(0, ("staging",)), CANARIES_FIRST),
        ({ONE: WANTS, CANARY: UNKNOWN}, RolloutLimits(9, ("staging",)), CANARIES_FIRST),
        ({ONE: WANTS, CANARY: DONE}, RolloutLimits(1, ("staging",)), ""),
        ({ONE: WANTS, CANARY: WANTS}, RolloutLimits(9, (), ["staging"]), CANARIES_FIRST),
        ({ONE: WANTS, CANARY: WANTS}, RolloutLimits(9, (), ["data"]), ""),
        ({ONE: WANTS, CANARY: DONE}, RolloutLimits(0, (), None), "which namespaces canaryNamespaceSelector selects"),
        ({ONE: HOLDS, CANARY: WANTS}, RolloutLimits(0, (), None), ""),
    ],
)
def test_turn(standings: Mapping[ResourceKey, RolloutStanding], limits: RolloutLimits, reason: str) -> None:
    found = turn(ONE, standings, limits)
    assert reason in found
    assert bool(reason) == bool(found)


def test_a_canary_waits_for_the_limit_and_for_no_other_canary() -> None:
    standings = {CANARY: WANTS, ResourceKey("staging", "b"): HOLDS}
    assert turn(CANARY, standings, RolloutLimits(2, ("staging",))) == ""
    assert "at most 1 resource at once" in turn(CANARY, standings, RolloutLimits(1, ("staging",)))


class Fleet:
    """Resources of one operator, which all run the default image."""

    def __init__(self, *names: str, limit: int = 1, canaries: tuple[str, ...] = (), **spec: Any) -> None:
        self.image = IMAGE
        self.known: dict[str, Any] = {}
        self.woken: list[str] = []
        self.places = RolloutPlaces(RolloutLimits(limit, canaries), lambda key: self.woken.append(str(key)))
        self.lives = {name: Life(_named(name, **spec)) for name in names}
        for name in names:
            self.settle(name)

    def step(self, name: str, **known: Any) -> Plan:
        life = self.lives[name]
        known = {"image": self.image, **self.known, **known}
        observed = life.observed(**known)
        self.places.seen(life.resource)
        runs = check(observed).runs
        assert runs is not None
        reason = self.places.ask(observed, application_of(observed, runs), paused=is_paused(observed))
        return life.step(**known, turn=reason)

    def settle(self, name: str) -> Plan:
        for _ in range(6):
            self.step(name)
            self.lives[name].get_ready()
        return self.step(name)

    def revisions(self, name: str) -> int:
        return len(self.lives[name].revisions())


def _named(name: str, **spec: Any) -> Document:
    namespace, _, its = name.partition("/")
    found = copy.deepcopy(resource(rollout={"canary": {"analysis": {"duration": "1s", "minRanges": 0}}}, **spec))
    found["metadata"] |= {"namespace": namespace, "name": its, "uid": name}
    return found


def test_one_after_the_other() -> None:
    fleet = Fleet("data/a", "data/b")
    fleet.image = NEW
    assert verdict(fleet.step("data/a"), "Reconciling") == ("True", "TryingCanary")
    plan = fleet.step("data/b")
    assert verdict(plan, "Reconciling") == ("True", "WaitingForTurn")
    assert "at most 1 resource at once" in condition(plan, "Reconciling")["message"]
    assert "data/a" in condition(plan, "Reconciling")["message"]
    assert verdict(plan, "Ready") == ("True", "MembersReady"), "it goes on as before"
    assert plan.status["summary"]["state"] == "WaitingForTurn"
    assert (fleet.revisions("data/a"), fleet.revisions("data/b")) == (2, 1)
    done = plan
    for minute in range(1, 8):
        fleet.lives["data/a"].get_ready()
        done = fleet.step("data/a", now=NOW.replace(minute=minute), lag=lag())
    assert verdict(done, "Reconciling") == ("False", "UpToDate")
    assert "data/b" in fleet.woken
    assert verdict(fleet.step("data/b"), "Reconciling") == ("True", "TryingCanary")


def failed_at_first() -> tuple[Fleet, Life]:
    """Return two resources, of which the first has tried a new image in vain, and that one."""
    fleet = Fleet("data/a", "data/b")
    fleet.image = NEW
    fleet.step("data/a")
    life = fleet.lives["data/a"]
    (new,) = (one for one in life.revisions() if one != life.resource["status"]["rollout"]["stable"])
    crashing = pod(f"a-{new}-0", revision=new, containerStatuses=[waiting("CrashLoopBackOff", restarts=4)])
    name = crashing["metadata"]["name"]
    life._apply(crashing)
    for minute in range(1, 5):
        fleet.step("data/a", now=NOW.replace(minute=minute))
    life.children = {key: one for key, one in life.children.items() if one["metadata"]["name"] != name}
    for minute in range(5, 8):
        life.get_ready()
        fleet.step("data/a", now=NOW.replace(minute=minute))
    plan = fleet.step("data/a", now=NOW.replace(minute=8))
    assert verdict(plan, "Stalled") == ("True", "RolloutFailed")
    return fleet, life


def test_a_failed_rollout_keeps_its_place() -> None:
    """So a bad image stops where it began, until somebody has dealt with it."""
    fleet, life = failed_at_first()
    (old,) = fleet.lives["data/b"].revisions()
    waits = condition(fleet.step("data/b"), "Reconciling")
    assert (waits["reason"], "data/a" in waits["message"]) == ("WaitingForTurn", True)
    life.change(image=IMAGE)  # the user stays with what works
    for _ in range(3):
        fleet.step("data/a", now=NOW.replace(minute=9))
    assert verdict(fleet.step("data/b"), "Reconciling") == ("True", "TryingCanary")
    assert old in fleet.lives["data/b"].revisions()


def test_a_failed_rollout_of_a_resource_that_does_not_work_anyway_keeps_nobody_waiting() -> None:
    fleet, life = failed_at_first()
    assert verdict(fleet.step("data/b"), "Reconciling") == ("True", "WaitingForTurn")
    for one in life.children.values():
        if one["kind"] == "StatefulSet":
            one["status"] = one["status"] | {"readyReplicas": 0}
    fleet.step("data/a", now=NOW.replace(minute=9))
    assert verdict(fleet.step("data/b"), "Reconciling") == ("True", "TryingCanary")


def test_a_users_change_neither_waits_nor_counts() -> None:
    fleet = Fleet("data/a", "data/b", "data/c")
    fleet.lives["data/a"].change(output={"text": {"compression": "zstd"}})
    assert verdict(fleet.step("data/a"), "Reconciling") == ("True", "TryingCanary")
    fleet.image = NEW
    assert verdict(fleet.step("data/b"), "Reconciling") == ("True", "TryingCanary")
    assert verdict(fleet.step("data/c"), "Reconciling") == ("True", "WaitingForTurn")
    fleet.lives["data/c"].change(output={"text": {"compression": "zstd"}})
    assert verdict(fleet.step("data/c"), "Reconciling") == ("True", "TryingCanary"), "with the new image"


def test_canary_namespaces_come_first_though_they_are_reconciled_last() -> None:
    before = Fleet("staging/a", "data/b", limit=0, canaries=("staging",))
    before.image = NEW
    # A new process, which has seen both and reconciled none.
    before.places = RolloutPlaces(RolloutLimits(0, ("staging",)), lambda key: before.woken.append(str(key)))
    for life in before.lives.values():
        before.places.seen(life.resource)
    assert verdict(before.step("data/b"), "Reconciling") == ("True", "WaitingForTurn")
    assert verdict(before.step("staging/a"), "Reconciling") == ("True", "TryingCanary")
    before.places.gone(before.lives["staging/a"].resource)
    assert "data/b" in before.woken
    assert verdict(before.step("data/b"), "Reconciling") == ("True", "TryingCanary")


def test_labels_of_namespaces_may_come_late_and_change() -> None:
    fleet = Fleet("staging/a", "data/b", limit=0)
    fleet.places = RolloutPlaces(RolloutLimits(0, (), None), lambda key: fleet.woken.append(str(key)))
    fleet.image = NEW
    told = condition(fleet.step("data/b"), "Reconciling")["message"]
    assert "has not said yet which namespaces canaryNamespaceSelector selects" in told
    fleet.places.select(frozenset({"staging"}))
    assert fleet.woken == ["data/b"]
    fleet.step("staging/a")
    assert verdict(fleet.step("data/b"), "Reconciling") == ("True", "WaitingForTurn")
    fleet.woken.clear()
    fleet.places.select(frozenset({"staging"}))
    assert fleet.woken == [], "nothing has changed"
    fleet.places.select(frozenset())
    assert fleet.woken == ["data/b"]
    assert verdict(fleet.step("data/b"), "Reconciling") == ("True", "TryingCanary")
