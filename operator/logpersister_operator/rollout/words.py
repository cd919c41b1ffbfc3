"""The state of a rollout for people: a few words for ``kubectl get``, and a sentence that says what it waits for."""

from datetime import datetime

from logpersister.manifest.blocks.rollout import PROMOTE
from logpersister.report.human import duration, plural
from logpersister_operator.rollout import analysis
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import Failure, RolloutRecord
from logpersister_operator.rollout.transitions import Phase


def words(record: RolloutRecord, inputs: RolloutInputs) -> str:
    """``Canary 1/3, analysing 2m of 5m``; empty when nothing is rolled out."""
    new, old = inputs.fleet(record.candidate), inputs.fleet(record.stable)
    if record.phase is Phase.STEADY:
        return ""
    if record.phase is Phase.RETURNING:
        return f"Returning, {new.occupied} to leave"
    if record.phase is Phase.HALTED:
        return f"Failed, {_who_runs(record, inputs)}"
    if record.phase is Phase.SHADOWING:
        return f"Shadowing, {_shadow(record, inputs)}"
    more = {
        Phase.CANARY: f", {_canary(record, inputs)}",
        Phase.ROLLING: _pause(record, inputs),
        Phase.WAITING: ", for promotion",
        Phase.RECREATING: f", {old.occupied} old to leave" if old.occupied else "",
    }
    return f"{record.phase} {new.ready}/{inputs.members}{more.get(record.phase, '')}"


def message(record: RolloutRecord, inputs: RolloutInputs) -> str:
    """Return what is going on and what ends it."""
    to = f"to revision {record.candidate}"
    match record.phase:
        case Phase.SHADOWING | Phase.CANARY | Phase.ROLLING | Phase.RECREATING:
            doubt = f"; looks wrong: {record.suspicion.cause}" if record.suspicion is not None else ""
            return f"from revision {record.stable} {to}: {words(record, inputs)}{doubt}"
        case Phase.WAITING:
            step = f".{record.step}"
            value = f"{PROMOTE}={record.candidate}{step}"
            return f"from revision {record.stable} {to}: waits for annotation {value} (without {step}: all steps)"
        case Phase.RETURNING:
            return f"back to revision {record.stable}: {words(record, inputs)}"
        case _:
            return ""


def failure_message(record: RolloutRecord, failure: Failure, inputs: RolloutInputs) -> str:
    """Return why a revision failed, and the remedy."""
    return (
        f"revision {failure.revision} failed: {failure.cause}; {_who_runs(record, inputs)}; "
        f"correct the spec, or try it again: kubectl logpersister retry, or spec.rollout.attempt {failure.attempt + 1}"
    )


def compared(inputs: RolloutInputs) -> str:
    """Return what a shadow has found, as a sentence."""
    found = inputs.shadow.comparison
    if found.answers == 0:
        return "its shadow has compared nothing"
    count = f"{plural(found.records.shadow, 'record')} in {plural(found.ranges, 'range')}"
    return f"its shadow compared {count}, {plural(found.differences, 'difference')}"


def _who_runs(record: RolloutRecord, inputs: RolloutInputs) -> str:
    there = inputs.fleet(record.candidate).wanted
    return f"revision {record.stable} goes on" + (f" beside {there} of {record.candidate}" if there else "")


def _canary(record: RolloutRecord, inputs: RolloutInputs) -> str:
    analysed, trial = inputs.analysis, record.trial
    if record.suspicion is not None:
        return "looks wrong"
    if trial is None:
        return "starting"
    elapsed = inputs.now - trial.since
    if elapsed < analysed.duration:
        return f"analysing {_elapsed(trial.since, inputs)} of {_short(analysed.duration.total_seconds())}"
    return f"analysing, {analysis.ranges(record, inputs)} of {analysed.min_ranges} ranges"


def _shadow(record: RolloutRecord, inputs: RolloutInputs) -> str:
    policy, trial, found = inputs.policy.shadow, record.trial, inputs.shadow.comparison
    if record.suspicion is not None:
        return "looks wrong"
    if trial is None or policy is None:
        return "starting"
    if inputs.now - trial.since < policy.duration:
        passed = f"{_elapsed(trial.since, inputs)} of {_short(policy.duration.total_seconds())}"
    else:
        passed = f"{found.ranges} of {plural(policy.min_ranges, 'range')}"
    return f"compared {plural(found.records.shadow, 'record')}, {passed}"


def _pause(record: RolloutRecord, inputs: RolloutInputs) -> str:
    pause = inputs.policy.pause_after(record.step)
    if record.suspicion is not None:
        return ", looks wrong"
    if record.rested is None or pause is None or pause.duration is None:
        return ""
    return f", pause {_elapsed(record.rested, inputs)} of {_short(pause.duration.total_seconds())}"


def _elapsed(since: datetime, inputs: RolloutInputs) -> str:
    seconds = (inputs.now - since).total_seconds()
    return _short(seconds - seconds % 60 if seconds >= 60 else seconds - seconds % 10)


def _short(seconds: float) -> str:
    """``5m`` for ``5m00s``."""
    return duration(round(seconds)).removesuffix("00s").replace("h00m", "h") if seconds >= 60 else f"{seconds:.0f}s"
