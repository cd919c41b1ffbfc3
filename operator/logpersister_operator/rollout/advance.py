"""Which phase follows: the way of a record through `TRANSITIONS`, as far as it leads at one moment."""

from dataclasses import replace
from typing import Final

from logpersister_operator.rollout import analysis, shadow_analysis
from logpersister_operator.rollout.inputs import Situation
from logpersister_operator.rollout.invariants import RolloutError
from logpersister_operator.rollout.record import Failure, Record
from logpersister_operator.rollout.transitions import ONGOING, Phase

MOST_STEPS: Final = 64


def follow(record: Record | None, situation: Situation) -> tuple[Record, ...]:
    """Return all records on the way from this one to where nothing follows now, both included."""
    path = [first(situation) if record is None else record]
    while not situation.deleting and (after := _next(path[-1], situation)) != path[-1]:
        path.append(after)
        if len(path) > MOST_STEPS:
            raise RolloutError(f"no rest: {[one.phase.value for one in path[-6:]]}")
    return tuple(path)


def first(situation: Situation) -> Record:
    """Return the record of a resource that has none: it is new, or its status was lost."""
    others = {
        revision: fleet
        for revision, fleet in situation.fleets.items()
        if revision != situation.revision and fleet.wanted > 0
    }
    if not others:
        return Record(Phase.STARTING, situation.now, candidate=situation.revision)
    stable = min(others, key=lambda revision: (-others[revision].ready, -others[revision].wanted, revision))
    return _begin(Record(Phase.STEADY, situation.now, stable=stable), situation)


def _next(record: Record, situation: Situation) -> Record:
    record_of_spec = _turn(record, situation)
    if record_of_spec is not None:
        return record_of_spec
    frozen = situation.paused or bool(situation.blocked)
    if frozen:
        return replace(record, frozen=True)
    if record.frozen:
        return replace(record, frozen=False, since=situation.now, waiting=None, rested=None, trial=None, suspicion=None)
    if record.phase in ONGOING:
        return _proceed(record, situation)
    return _settle(record, situation)


# the spec says another revision


def _turn(record: Record, situation: Situation) -> Record | None:
    """Follow the spec to another revision; None when it says the same as before."""
    wanted, attempt = situation.revision, situation.policy.attempt
    if wanted == record.stable:
        if record.candidate is None or record.phase is Phase.RETURNING:
            return None
        return _quiet(record, Phase.RETURNING, situation)
    refused = record.failure_of(wanted, attempt) is not None
    if wanted == record.candidate:
        again = record.phase in (Phase.RETURNING, Phase.HALTED) and not refused
        return _begin(record, situation) if again else None
    stable = _proven(record, situation)
    if stable is None:
        return Record(Phase.STARTING, situation.now, candidate=wanted, failures=record.failures, frozen=record.frozen)
    if refused and wanted != stable:
        return Record(
            Phase.HALTED,
            situation.now,
            stable=stable,
            candidate=wanted,
            failures=record.failures,
            frozen=record.frozen,
        )
    return _begin(replace(record, stable=stable), situation)


def _proven(record: Record, situation: Situation) -> str | None:
    """Return the revision that a third one is measured against: the stable one, unless only the second one works."""
    second = record.candidate
    works = second is not None and situation.fleet(second).ready > 0 and not record.has_failed(second)
    if record.stable is None:
        return second if works else None
    if works and record.phase in ONGOING and situation.fleet(record.stable).is_broken:
        return second
    return record.stable


def _begin(record: Record, situation: Situation) -> Record:
    """Let the revision of the spec in, beside or after the stable one."""
    joining = Phase.SHADOWING if shadow_analysis.is_wanted(record, situation) else Phase.CANARY
    phase = Phase.RECREATING if situation.policy.recreate else joining
    return Record(
        phase,
        situation.now,
        began=situation.now,
        stable=record.stable,
        candidate=situation.revision,
        failures=record.failures,
        frozen=record.frozen,
    )


# the same revision goes on


def _proceed(record: Record, situation: Situation) -> Record:
    recreating = record.phase is Phase.RECREATING
    if situation.policy.recreate != recreating and (not recreating or situation.fleet(record.stable).ready > 0):
        return replace(_begin(record, situation), began=record.began)
    return _shadow(record, situation) if record.phase is Phase.SHADOWING else _let_in(record, situation)


def _let_in(record: Record, situation: Situation) -> Record:
    """Let members of the candidate follow as those before them are good."""
    record = replace(record, step=min(record.step, situation.policy.last_step))
    found = analysis.watch(record, situation)
    if found.verdict == "failed":
        return _fail(found.record, found.cause, situation)
    if found.cause or situation.fleet(record.candidate).ready < analysis.target(record, situation):
        return found.record
    if record.phase is Phase.CANARY:
        passed = found.verdict == "passed" or situation.is_promoted(record.candidate, 0)
        return _go_on(found.record, situation) if passed else found.record
    if record.phase is Phase.RECREATING:
        return _complete(found.record, situation)
    return _rest(found.record, situation)


def _shadow(record: Record, situation: Situation) -> Record:
    """Compare a revision that has no members yet, for as long as that is wanted."""
    policy = situation.policy.shadow
    if policy is None or not shadow_analysis.is_wanted(record, situation):
        return _join(record, situation)
    found = shadow_analysis.watch(record, situation, policy)
    if found.verdict == "failed":
        return _fail(found.record, found.cause, situation)
    promoted = not found.cause and situation.is_promoted(record.candidate, 0)
    return _join(record, situation) if found.verdict == "passed" or promoted else found.record


def _join(record: Record, situation: Situation) -> Record:
    """Let the first members of a revision into the group that was compared, or need not be."""
    return replace(_quiet(record, Phase.CANARY, situation), began=record.began)


def _rest(record: Record, situation: Situation) -> Record:
    """Keep the pause after a step whose members are ready."""
    pause = situation.policy.pause(record.step)
    if pause is None or situation.is_promoted(record.candidate, record.step):
        return _go_on(record, situation)
    if record.rested is None:
        return replace(record, rested=situation.now)
    if pause.duration is None:
        return replace(record, phase=Phase.WAITING)
    return _go_on(record, situation) if situation.now - record.rested >= pause.duration else record


def _go_on(record: Record, situation: Situation) -> Record:
    last = situation.policy.last_step
    if record.step >= last:
        return _complete(record, situation)
    step = last if situation.fleet(record.stable).is_broken else record.step + 1
    return replace(record, phase=Phase.ROLLING, step=step, since=situation.now, reached=0, waiting=None, rested=None)


def _complete(record: Record, situation: Situation) -> Record:
    proven = record.without_failure(record.candidate)
    return Record(Phase.STEADY, situation.now, stable=record.candidate, failures=proven.failures)


def _fail(record: Record, cause: str, situation: Situation) -> Record:
    assert record.candidate is not None
    failed = record.with_failure(Failure(record.candidate, situation.policy.attempt, cause, situation.now))
    return _quiet(failed, Phase.RETURNING if situation.policy.rolls_back else Phase.HALTED, situation)


def _settle(record: Record, situation: Situation) -> Record:
    """Return what follows a phase in which no revision is let in."""
    candidate = situation.fleet(record.candidate)
    if record.phase is Phase.STARTING and candidate.ready >= situation.members:
        return _complete(record, situation)
    if record.phase is Phase.RETURNING and candidate.is_gone:
        if situation.revision == record.stable:
            return Record(Phase.STEADY, situation.now, stable=record.stable, failures=record.failures)
        return _quiet(record, Phase.HALTED, situation)
    if record.phase is Phase.HALTED and situation.policy.rolls_back and not candidate.is_gone:
        return _quiet(record, Phase.RETURNING, situation)
    return record


def _quiet(record: Record, phase: Phase, situation: Situation) -> Record:
    """Enter a phase in which nothing is watched."""
    return Record(
        phase,
        situation.now,
        began=record.began if phase is Phase.RETURNING else None,
        stable=record.stable,
        candidate=record.candidate,
        step=record.step,
        failures=record.failures,
        frozen=record.frozen,
    )
