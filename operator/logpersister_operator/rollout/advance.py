"""The next phase: the way of a record through `TRANSITIONS`, as far as it leads at one moment."""

from dataclasses import replace
from typing import Final

from logpersister.manifest.blocks.rollout import ABORT
from logpersister_operator.rollout import analysis, shadow_analysis
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.invariants import RolloutError
from logpersister_operator.rollout.record import Failure, RolloutRecord
from logpersister_operator.rollout.transitions import ONGOING, Phase

MOST_STEPS: Final = 64


def advance_phase(record: RolloutRecord | None, inputs: RolloutInputs) -> tuple[RolloutRecord, ...]:
    """Return all records on the way from this one to where nothing follows now, both included."""
    path = [first(inputs) if record is None else _forgiven(record, inputs)]
    if inputs.unattended:
        return (replace(path[0], frozen=True),)
    while not inputs.deleting and (after := _next(path[-1], inputs)) != path[-1]:
        path.append(after)
        if len(path) > MOST_STEPS:
            raise RolloutError(f"no rest: {[one.phase.value for one in path[-6:]]}")
    return tuple(path)


def first(inputs: RolloutInputs) -> RolloutRecord:
    """Return the record of a resource that has none: it is new, or its status was lost."""
    others = {
        revision: fleet for revision, fleet in inputs.fleets.items() if revision != inputs.revision and fleet.wanted > 0
    }
    if not others:
        return RolloutRecord(Phase.STARTING, inputs.now, candidate=inputs.revision)
    stable = min(others, key=lambda revision: (-others[revision].ready, -others[revision].wanted, revision))
    return _begin(RolloutRecord(Phase.STEADY, inputs.now, stable=stable), inputs)


def _next(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    record_of_spec = _follow_spec(record, inputs)
    if record_of_spec is not None:
        return record_of_spec
    withdrawn = _aborted(record, inputs)
    if withdrawn is not None:
        return withdrawn
    frozen = inputs.paused or bool(inputs.blocked)
    if frozen:
        return replace(record, frozen=True)
    if record.frozen:
        return replace(record, frozen=False, since=inputs.now, waiting=None, rested=None, trial=None, suspicion=None)
    if record.phase in ONGOING:
        return _proceed(record, inputs)
    return _settle(record, inputs)


# the spec says another revision


def _follow_spec(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord | None:
    """Follow the spec to another revision; None when it says the same as before."""
    wanted, attempt = inputs.revision, inputs.policy.attempt
    if wanted == record.stable:
        if record.candidate is None or record.phase is Phase.RETURNING:
            return None
        return _enter(record, Phase.RETURNING, inputs)
    refused = record.failure_of(wanted, attempt) is not None
    if wanted == record.candidate:
        return _follow_attempt(record, inputs, refused=refused)
    stable = _proven(record, inputs)
    if stable is None:
        return RolloutRecord(
            Phase.STARTING, inputs.now, candidate=wanted, failures=record.failures, frozen=record.frozen
        )
    if refused and wanted != stable:
        return RolloutRecord(
            Phase.HALTED,
            inputs.now,
            stable=stable,
            candidate=wanted,
            failures=record.failures,
            frozen=record.frozen,
        )
    return _begin(replace(record, stable=stable), inputs)


def _follow_attempt(record: RolloutRecord, inputs: RolloutInputs, *, refused: bool) -> RolloutRecord | None:
    """Try the candidate again, or withdraw it because the spec went back to an attempt that failed."""
    if record.phase in ONGOING:
        return _enter(record, Phase.RETURNING, inputs) if refused else None
    again = record.phase in (Phase.RETURNING, Phase.HALTED) and not refused
    return _begin(record, inputs) if again else None


def _proven(record: RolloutRecord, inputs: RolloutInputs) -> str | None:
    """Return the revision that a third one is measured against: the stable one, unless only the second one works."""
    second = record.candidate
    works = second is not None and inputs.fleet(second).ready > 0 and not record.has_failed(second)
    if record.stable is None:
        return second if works else None
    if works and record.phase in ONGOING and inputs.fleet(record.stable).is_broken:
        return second
    return record.stable


def _begin(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    joining = Phase.SHADOWING if shadow_analysis.is_wanted(record, inputs) else Phase.CANARY
    phase = Phase.RECREATING if inputs.policy.recreates else joining
    return RolloutRecord(
        phase,
        inputs.now,
        began=inputs.now,
        stable=record.stable,
        candidate=inputs.revision,
        failures=record.failures,
        frozen=record.frozen,
    )


# somebody decides


def _forgiven(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    """Forget the failure of a revision that somebody wants to be tried again."""
    return replace(record, failures=tuple(one for one in record.failures if not inputs.is_retried(one)))


def _aborted(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord | None:
    """Withdraw the candidate; None when nobody has asked for that, or it is withdrawn already."""
    if record.phase in ONGOING and inputs.is_aborted(record.candidate, record.began):
        return _fail(record, f"aborted by the annotation {ABORT}", inputs, Phase.RETURNING)
    failed = record.failure_of(record.candidate, inputs.policy.attempt)
    left = record.phase is Phase.HALTED and not inputs.fleet(record.candidate).is_gone
    if left and failed is not None and inputs.is_aborted(record.candidate, failed.time):
        return _enter(record, Phase.RETURNING, inputs)
    return None


# the same revision goes on


def _proceed(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    recreating = record.phase is Phase.RECREATING
    if inputs.policy.recreates != recreating and (not recreating or inputs.fleet(record.stable).ready > 0):
        return replace(_begin(record, inputs), began=record.began)
    return _compare_shadow(record, inputs) if record.phase is Phase.SHADOWING else _roll_out(record, inputs)


def _roll_out(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    """Add members of the candidate as long as those before them are good."""
    record = replace(record, step=min(record.step, inputs.policy.last_step))
    found = analysis.watch(record, inputs)
    if found.verdict == "failed":
        return _fail(found.record, found.cause, inputs)
    if found.cause or inputs.fleet(record.candidate).ready < analysis.target(record, inputs):
        return found.record
    if record.phase is Phase.CANARY:
        passed = found.verdict == "passed" or inputs.is_promoted(record.candidate, 0)
        return _next_size(found.record, inputs) if passed else found.record
    if record.phase is Phase.RECREATING:
        return _complete(found.record, inputs)
    return _pause(found.record, inputs)


def _compare_shadow(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    """Compare a revision that has no members yet, for as long as that is wanted."""
    policy = inputs.policy.shadow
    if policy is None or not shadow_analysis.is_wanted(record, inputs):
        return _join(record, inputs)
    found = shadow_analysis.watch(record, inputs, policy)
    if found.verdict == "failed":
        return _fail(found.record, found.cause, inputs)
    promoted = not found.cause and inputs.is_promoted(record.candidate, 0)
    return _join(record, inputs) if found.verdict == "passed" or promoted else found.record


def _join(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    return replace(_enter(record, Phase.CANARY, inputs), began=record.began)


def _pause(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    pause = inputs.policy.pause_after(record.step)
    if pause is None or inputs.is_promoted(record.candidate, record.step):
        return _next_size(record, inputs)
    if record.rested is None:
        return replace(record, rested=inputs.now)
    if pause.duration is None:
        return replace(record, phase=Phase.WAITING)
    return _next_size(record, inputs) if inputs.now - record.rested >= pause.duration else record


def _next_size(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    last = inputs.policy.last_step
    if record.step >= last:
        return _complete(record, inputs)
    step = last if inputs.fleet(record.stable).is_broken else record.step + 1
    return replace(record, phase=Phase.ROLLING, step=step, since=inputs.now, reached=0, waiting=None, rested=None)


def _complete(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    proven = record.without_failure(record.candidate)
    return RolloutRecord(Phase.STEADY, inputs.now, stable=record.candidate, failures=proven.failures)


def _fail(record: RolloutRecord, cause: str, inputs: RolloutInputs, phase: Phase | None = None) -> RolloutRecord:
    """Remember the failure; go on as the spec says, unless another phase is given."""
    assert record.candidate is not None
    failed = record.with_failure(Failure(record.candidate, inputs.policy.attempt, cause, inputs.now))
    return _enter(failed, phase or (Phase.RETURNING if inputs.policy.rolls_back else Phase.HALTED), inputs)


def _settle(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    """Return what follows a phase without a rollout."""
    candidate = inputs.fleet(record.candidate)
    if record.phase is Phase.STARTING and candidate.ready >= inputs.members:
        return _complete(record, inputs)
    if record.phase is Phase.RETURNING and candidate.is_gone:
        if inputs.revision == record.stable:
            return RolloutRecord(Phase.STEADY, inputs.now, stable=record.stable, failures=record.failures)
        return _enter(record, Phase.HALTED, inputs)
    if record.phase is Phase.HALTED and inputs.policy.rolls_back and not candidate.is_gone:
        return _enter(record, Phase.RETURNING, inputs)
    return record


def _enter(record: RolloutRecord, phase: Phase, inputs: RolloutInputs) -> RolloutRecord:
    """Enter a phase in which nothing is watched."""
    return RolloutRecord(
        phase,
        inputs.now,
        began=record.began if phase is Phase.RETURNING else None,
        stable=record.stable,
        candidate=record.candidate,
        step=record.step,
        failures=record.failures,
        frozen=record.frozen,
    )
