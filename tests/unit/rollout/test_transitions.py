"""The table of transitions says what happens: each is taken in some situation, and no other ever is."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product

import pytest

from logpersister.manifest.blocks.rollout import RolloutSpec
from logpersister_operator.rollout.advance import advance_phase
from logpersister_operator.rollout.evidence import Evidence
from logpersister_operator.rollout.fleet import Fleet
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import Failure, RolloutRecord, Suspicion, Trial
from logpersister_operator.rollout.transitions import ONGOING, TRANSITIONS, Phase

NOW = datetime(2026, 11, 22, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)
POLICIES = [
    RolloutSpec.model_validate(policy)
    for policy in (
        {},
        {"onFailure": "Pause"},
        {"strategy": "Recreate"},
        {"shadow": {"groupId": "shadows", "prefix": "shadows"}},
        {"steps": [{"members": 1, "pause": {}}, {"members": 2, "pause": {"duration": "1m"}}]},
    )
]
FLEETS = [
    {"A": Fleet(2, frozenset({0, 1}), 2)},
    {"A": Fleet(2, frozenset({0, 1}), 2), "B": Fleet(2, frozenset({0, 1}), 2)},
    {"A": Fleet(2, frozenset({0, 1}), 2), "B": Fleet(1, frozenset({0}), 0, "it crashes")},
    {"B": Fleet(2, frozenset({0, 1}), 2)},
]


def records() -> Iterator[RolloutRecord]:
    for phase, candidate, failed in product(Phase, "BC", ("", "B", "C")):
        failures = (Failure(failed, 0, "", LONG_AGO),) if failed and phase is not Phase.STARTING else ()
        for step in (1, 2, 3) if phase in (Phase.ROLLING, Phase.WAITING) else (0,):
            record = RolloutRecord(
                phase, LONG_AGO, stable="A", candidate=candidate, step=step, failures=failures, rested=LONG_AGO
            )
            if phase is Phase.STEADY:
                yield replace(record, candidate=None)
            elif phase is Phase.STARTING:
                yield replace(record, stable=None)
            else:
                trial = Trial(LONG_AGO) if phase in ONGOING else None
                yield replace(record, trial=trial)
                yield replace(record, trial=trial, suspicion=Suspicion(LONG_AGO, "it crashes"))


@pytest.mark.slow
def test_each_transition_is_taken_and_no_other() -> None:
    taken = set()
    for record, revision, policy, fleets, promote in product(records(), "ABC", POLICIES, FLEETS, ("", "B.1")):
        evidence = {"B": Evidence(answers=1, ranges=9)}
        inputs = RolloutInputs(NOW, revision, 2, policy, fleets, evidence, promote=promote)
        taken |= {
            (before.phase, after.phase)
            for before, after in pairwise(advance_phase(record, inputs))
            if (before.phase, before.candidate) != (after.phase, after.candidate) or before.step < after.step
        }
    table = {(before, after) for before, following in TRANSITIONS.items() for after in following}
    assert (table - taken, taken - table) == (set(), set())
