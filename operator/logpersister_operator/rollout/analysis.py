"""Whether the candidate is as good as the revision that it follows: waiting, passed or failed, with the cause in words.

Its members are measured against those of the stable revision: what both suffer is an outage, and only takes time.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from logpersister.report.human import duration, number, plural
from logpersister_operator.rollout import quarantine_analysis
from logpersister_operator.rollout.evidence import Evidence, gained
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord, Suspicion, Trial
from logpersister_operator.rollout.transitions import Phase

RECENT: Final = timedelta(minutes=3)
"""How long a failed upload counts as present: a member tries again within two minutes."""
PATIENCE: Final = timedelta(seconds=60)
"""How long something must look wrong before it is: a member that restarts and a request that fails are no verdict."""
MOST_FLAPS: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found about the candidate now."""

    verdict: Literal["waiting", "passed", "failed"]
    record: RolloutRecord
    """The record with what was counted and suspected; to be remembered."""
    cause: str = ""


def watch(record: RolloutRecord, inputs: RolloutInputs) -> Finding:
    """Look at the candidate of a rollout that is going on."""
    record = _counted(record, inputs)
    mine = inputs.evidence_of(record.candidate)
    if record.trial is not None and fails_uploads(record.trial, mine, inputs) and is_shared(record, inputs):
        record = replace(record, trial=_trial(record, inputs))
    cause, passed = _cause(record, inputs), _has_passed(record, inputs)
    return judged(record, inputs, cause, inputs.analysis.duration, passed=passed)


def judged(record: RolloutRecord, inputs: RolloutInputs, cause: str, watched: timedelta, *, passed: bool) -> Finding:
    """Return what follows from what looks wrong, if something does: only what lasts is a failure.

    ``watched`` is the time for which a revision is watched.
    """
    if not cause:
        return Finding("passed" if passed else "waiting", replace(record, suspicion=None))
    if record.suspicion is None:
        record = replace(record, suspicion=Suspicion(inputs.now, cause))
    lasts = record.suspicion is not None and inputs.now - record.suspicion.since >= min(PATIENCE, watched)
    return Finding("failed" if lasts else "waiting", record, cause)


def target(record: RolloutRecord, inputs: RolloutInputs) -> int:
    """Return how many members of the candidate this step is about."""
    if record.phase is Phase.RECREATING:
        return inputs.members
    return inputs.policy.members_after(record.step, inputs.members)


def is_idle(record: RolloutRecord, inputs: RolloutInputs) -> bool:
    """Whether the candidate has nothing to commit."""
    mine = inputs.evidence_of(record.candidate)
    return mine.answers > 0 and (mine.partitions == 0 or mine.behind == 0)


def ranges(record: RolloutRecord, inputs: RolloutInputs) -> int:
    """Return how many ranges the candidate has committed since it is watched."""
    before = 0 if record.trial is None else record.trial.ranges
    return gained(inputs.evidence_of(record.candidate).ranges, before)


def due(record: RolloutRecord, inputs: RolloutInputs) -> datetime | None:
    """Return when time alone may change something next."""
    policy = inputs.policy
    tried = policy.shadow if record.phase is Phase.SHADOWING and policy.shadow is not None else inputs.analysis
    times = []
    if record.phase is Phase.RETURNING:
        times.append(record.since + policy.progress_deadline)
    if record.trial is not None and record.phase in (Phase.SHADOWING, Phase.CANARY):
        times += [record.trial.since + tried.duration, record.trial.since + policy.progress_deadline]
    if record.suspicion is not None:
        times.append(record.suspicion.since + min(PATIENCE, tried.duration))
    if record.waiting is not None:
        times.append(record.waiting + policy.progress_deadline)
    pause = policy.pause_after(record.step)
    if record.rested is not None and pause is not None and pause.duration is not None:
        times.append(record.rested + pause.duration)
    return min((time for time in times if time > inputs.now), default=None)


def _counted(record: RolloutRecord, inputs: RolloutInputs) -> RolloutRecord:
    """Take in who is ready: progress, and whether the canary can be watched."""
    mine, aim = inputs.fleet(record.candidate), target(record, inputs)
    lacks = mine.ready < aim and (mine.wanted > mine.ready or bool(inputs.refused))
    record = with_progress(record, mine.ready, inputs.now, lacks=lacks)
    if record.phase is Phase.RECREATING:
        return record
    record = quarantine_analysis.heard(record, inputs.evidence_of(record.candidate), inputs)
    if record.phase is Phase.CANARY and mine.ready < aim:
        return record if record.trial is None else replace(record, trial=None, flaps=record.flaps + 1)
    trial = record.trial or _trial(record, inputs)
    if trial.lag is None and inputs.lag is not None:
        trial = replace(trial, lag=inputs.lag.records)
    return replace(record, trial=trial)


def with_progress(record: RolloutRecord, ready: int, now: datetime, *, lacks: bool) -> RolloutRecord:
    """Take in how many members are ready, and whether some are missing."""
    if not lacks:
        record = replace(record, waiting=None)
    elif record.waiting is None or ready > record.reached:
        record = replace(record, waiting=now)
    return replace(record, reached=max(record.reached, ready))


def _trial(record: RolloutRecord, inputs: RolloutInputs) -> Trial:
    mine, lag = inputs.evidence_of(record.candidate), inputs.lag
    return Trial(inputs.now, mine.ranges, mine.upload_failures, None if lag is None else lag.records)


def _cause(record: RolloutRecord, inputs: RolloutInputs) -> str:
    mine, trial = inputs.fleet(record.candidate), record.trial
    if mine.sick:
        return mine.sick
    if record.flaps > MOST_FLAPS:
        return f"the canary became unready {record.flaps} times during the analysis"
    if trial is not None and fails_uploads(trial, inputs.evidence_of(record.candidate), inputs):
        count = gained(inputs.evidence_of(record.candidate).upload_failures, trial.upload_failures)
        return f"{plural(count, 'upload')} of it failed while those of the old revision succeed"
    if refused := quarantine_analysis.excess(record, inputs.evidence_of(record.candidate), inputs, inputs.analysis):
        return refused
    if trial is not None and (grown := _lag_growth(trial, record, inputs)):
        return grown
    return _delay(record, inputs)


def fails_uploads(trial: Trial, mine: Evidence, inputs: RolloutInputs) -> bool:
    """Whether more uploads have failed during the trial than may."""
    count = gained(mine.upload_failures, trial.upload_failures)
    last = mine.last_upload_failure
    return count > inputs.analysis.max_upload_failures and last is not None and last >= trial.since


def is_shared(record: RolloutRecord, inputs: RolloutInputs) -> bool:
    """Whether the stable revision cannot be asked how uploads should go, or says that they fail."""
    theirs = inputs.evidence_of(record.stable)
    failing = theirs.last_upload_failure is not None and inputs.now - theirs.last_upload_failure <= RECENT
    return failing or inputs.fleet(record.stable).ready == 0


def _lag_growth(trial: Trial, record: RolloutRecord, inputs: RolloutInputs) -> str:
    """Judge the lag of the group only while the stable revision has all its members: else it is they who are missed."""
    lag, old, percent = inputs.lag, inputs.fleet(record.stable), inputs.analysis.max_lag_growth
    if lag is None or trial.lag is None or not lag.over_target or not 0 < old.wanted <= old.ready:
        return ""
    if lag.records * 100 <= trial.lag * (100 + percent):
        return ""
    return (
        f"the lag grew from {number(trial.lag)} to {number(lag.records)} records, "
        f"by more than {percent}%, and exceeds its target"
    )


def _delay(record: RolloutRecord, inputs: RolloutInputs) -> str:
    policy, mine, now = inputs.policy, inputs.fleet(record.candidate), inputs.now
    deadline = duration(policy.progress_deadline.total_seconds())
    if record.waiting is not None and now - record.waiting >= policy.progress_deadline:
        why = inputs.refused or mine.waits
        count = f"{mine.ready} of {plural(target(record, inputs), 'member')} ready"
        return f"{count}, and no progress for {deadline}" + (f": {why}" if why else "")
    if record.phase is not Phase.CANARY or record.trial is None:
        return ""
    if now - record.trial.since < max(policy.progress_deadline, inputs.analysis.duration) or _is_enough(record, inputs):
        return ""
    return _idleness(record, inputs)


def _idleness(record: RolloutRecord, inputs: RolloutInputs) -> str:
    """Say what a canary that is ready has not done for too long; empty when that may not be its fault."""
    ours, theirs = inputs.evidence_of(record.candidate), inputs.evidence_of(record.stable)
    deadline = duration(inputs.policy.progress_deadline.total_seconds())
    if ours.answers == 0:
        return f"its /status has not answered for {deadline}, while that of old members does" * (theirs.answers > 0)
    if not ours.overdue or theirs.overdue:
        return ""
    done = f"{ranges(record, inputs)} of {plural(inputs.analysis.min_ranges, 'range')}"
    return f"it committed {done} in {deadline}, and records that should be stored wait"


def _is_enough(record: RolloutRecord, inputs: RolloutInputs) -> bool:
    return ranges(record, inputs) >= inputs.analysis.min_ranges or is_idle(record, inputs)


def _has_passed(record: RolloutRecord, inputs: RolloutInputs) -> bool:
    if record.phase is not Phase.CANARY or record.trial is None:
        return False
    if inputs.fleet(record.stable).is_broken:  # nothing can be worse, and every minute counts
        return True
    return inputs.now - record.trial.since >= inputs.analysis.duration and _is_enough(record, inputs)
