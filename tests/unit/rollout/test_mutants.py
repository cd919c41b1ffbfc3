"""The tests of small worlds are worth something: each rule that is broken on purpose makes one of them fail."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from logpersister_operator.rollout import advance, analysis, evidence, next_replicas, shadow_analysis
from logpersister_operator.rollout import quarantine_analysis as quarantine
from logpersister_operator.rollout import step as stepping
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.transitions import Phase
from tests.unit.rollout.search import explore
from tests.unit.rollout.test_worlds import WORLDS, broken
from tests.unit.rollout.world import BrokenError, World


@dataclass(frozen=True)
class Mutant:
    """A rule that is broken, by what takes the place of a function; and a world in which that shows."""

    module: Any
    function: str
    instead: Callable[[Callable[..., Any]], Callable[..., Any]]
    world: World
    with_invariants: bool = True
    """Without them, the worlds themselves must notice."""


def constant(value: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda _: lambda *_: value


def never_failed(original: Callable[..., Any]) -> Callable[..., Any]:
    """A failure is not remembered."""
    return lambda record, cause, inputs: replace(original(record, cause, inputs), failures=())


def at_once(_: Callable[..., Any]) -> Callable[..., Any]:
    """The old members leave without looking at the new ones."""
    return lambda record, inputs, aim: min(inputs.fleet(record.stable).wanted, aim)


def without_room(_: Callable[..., Any]) -> Callable[..., Any]:
    return lambda record, inputs, aims, kept: kept | aims


def keeps(_: Callable[..., Any]) -> Callable[..., Any]:
    return lambda record, inputs, aim: inputs.fleet(record.candidate).wanted


def with_canary(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda record, inputs: original(as_canary(record), inputs)


NONE = quarantine.Share(0, 0)
MUTANTS = {
    "old members leave at once": Mutant(next_replicas, "_of_stable", at_once, WORLDS["a good revision"]),
    "the same, unchecked": Mutant(next_replicas, "_of_stable", at_once, WORLDS["a good revision"], False),
    "no room is left": Mutant(next_replicas, "_scaled_up", without_room, WORLDS["a good revision"], False),
    "a failure is forgotten": Mutant(advance, "_fail", never_failed, WORLDS["a crashing one"]),
    "a failed canary stays": Mutant(next_replicas, "_of_candidate", keeps, WORLDS["a crashing one"]),
    "sickness is overlooked": Mutant(analysis, "_cause", constant(""), WORLDS["one that cannot upload"]),
    "an outage is the canary's fault": Mutant(analysis, "is_shared", constant(False), WORLDS["an outage"]),
    "quarantine is overlooked": Mutant(quarantine, "excess", constant(""), WORLDS["one that refuses records"]),
    "the shadow's is overlooked": Mutant(quarantine, "excess", constant(""), WORLDS["a shadow that refuses records"]),
    "what the old one refuses is the canary's fault": Mutant(
        quarantine, "_usual", constant(NONE), WORLDS["one that refuses as the old one does"]),
    "what the old one refuses is the shadow's fault": Mutant(
        quarantine, "_usual", constant(NONE), WORLDS["a shadow that refuses as the old one"]),
    "nothing may be refused": Mutant(quarantine.Share, "exceeds", lambda original: lambda mine, theirs, _: original(
        mine, theirs, 0), WORLDS["one that refuses a few"]),
    "refused records matter though no old one works": Mutant(quarantine, "_has_peers", constant(True),
        WORLDS["the old one is broken, the new one refuses"]),
    "all that members ever stored counts": Mutant(evidence, "_before", lambda _: lambda now, last, began: replace(
        now, records=0, quarantined=0) if last is None else last, WORLDS["one that refuses as the old one does"]),
    "no evidence is enough": Mutant(quarantine, "_is_evident", constant(False),
        WORLDS["one that refuses records"]),
    "any canary passes": Mutant(analysis, "_has_passed", constant(True), WORLDS["one that hangs"]),
    "no canary passes": Mutant(analysis, "_has_passed", constant(False), WORLDS["a good revision"]),
    "superseded members stay": Mutant(next_replicas, "_superseded", lambda _: everybody, WORLDS["a third one"]),
    "superseded members go at once": Mutant(next_replicas, "_superseded", constant({}), broken(turn=2, time=1)),
    "a third revision is ignored": Mutant(advance, "_follow_spec", constant(None), WORLDS["a third one"]),
    "no shadow comes": Mutant(shadow_analysis, "is_wanted", constant(False), WORLDS["a shadow that differs"]),
    "differences are overlooked": Mutant(shadow_analysis, "_cause", constant(""), WORLDS["a shadow that differs"]),
    "any shadow passes": Mutant(shadow_analysis, "_has_passed", constant(True), WORLDS["a shadow that hangs"]),
    "no shadow passes": Mutant(shadow_analysis, "_has_passed", constant(False), WORLDS["a shadow of a good one"]),
    "an outage is the shadow's fault": Mutant(analysis, "is_shared", constant(False), WORLDS["a shadow of an outage"]),
    "a shadow stays": Mutant(shadow_analysis, "members", constant(1), WORLDS["a shadow of a good one"], False),
    "a canary beside the shadow": Mutant(
        next_replicas, "target_replica_counts", with_canary, WORLDS["a shadow that differs"]),
    "that canary, unchecked": Mutant(
        next_replicas, "target_replica_counts", with_canary, WORLDS["a shadow that differs"], False),
    "what is missed leaves": Mutant(next_replicas, "_of_candidate", lambda original: lambda record, inputs, aim: 0 if
        record.phase is Phase.SHADOWING else original(record, inputs, aim), WORLDS["a shadow of what runs already"]),
    "a pause is ignored": Mutant(stepping, "next_replica_counts", lambda original: lambda record, inputs: original(
        record, replace(inputs, paused=False)), WORLDS["paused"]),
}  # fmt: skip


def as_canary(record: RolloutRecord) -> RolloutRecord:
    return replace(record, phase=Phase.CANARY) if record.phase is Phase.SHADOWING else record


def everybody(record: Any, inputs: Any) -> dict[str, int]:
    return {revision: fleet.wanted for revision, fleet in next_replicas._others(record, inputs).items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_rule_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    monkeypatch.setattr(mutant.module, mutant.function, mutant.instead(getattr(mutant.module, mutant.function)))
    if not mutant.with_invariants:
        monkeypatch.setattr(stepping, "check", lambda *_: None)
    with pytest.raises(BrokenError):
        explore(mutant.world)
