"""Whether the candidate is as good as the revision that it follows: waiting, passed or failed, with the cause in words.

Its members are measured against those of the stable revision: what both suffer is an outage, and only takes time.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from logpersister.report.human import duration, number, plural
from logpersister_operator.rollout import quarantine_analysis
from logpersister_operator.rollout.evidence import Evidence, gained
from logpersister_operator.rollout.inputs import Situation
from logpersister_operator.rollout.record import Record, Suspicion, Trial
from logpersister_operator.rollout.transitions import Phase

RECENT: Final = timedelta(minutes=3)
"""How long a failed upload counts as present: a member tries again within two minutes."""
MOST_FLAPS: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found about the candidate now."""

    verdict: Literal["waiting", "passed", "failed"]
    record: Record
    """With what was counted and suspected; to be remembered."""
    cause: str = ""


def watch(record: Record, situation: Situation) -> Finding:
    """Look at the candidate of a rollout that is going on."""
    record = _counted(record, situation)
    mine = situation.evidence_of(record.candidate)
    if record.trial is not None and fails_uploads(record.trial, mine, situation) and is_shared(record, situation):
        record = replace(record, trial=_trial(record, situation))
    cause, passed = _cause(record, situation), _has_passed(record, situation)
    return judged(record, situation, cause, situation.policy.patience, passed=passed)


def judged(record: Record, situation: Situation, cause: str, patience: timedelta, *, passed: bool) -> Finding:
    """Return what follows from what looks wrong, if something does: only what lasts is a failure."""
    if not cause:
        return Finding("passed" if passed else "waiting", replace(record, suspicion=None))
    if record.suspicion is None:
        record = replace(record, suspicion=Suspicion(situation.now, cause))
    lasts = record.suspicion is not None and situation.now - record.suspicion.since >= patience
    return Finding("failed" if lasts else "waiting", record, cause)


def target(record: Record, situation: Situation) -> int:
    """Return how many members of the candidate this step is about."""
    if record.phase is Phase.RECREATING:
        return situation.members
    return situation.policy.members(record.step, situation.members)


def is_idle(record: Record, situation: Situation) -> bool:
    """Whether the candidate has nothing to commit."""
    mine = situation.evidence_of(record.candidate)
    return mine.answers > 0 and (mine.partitions == 0 or mine.behind == 0)


def ranges(record: Record, situation: Situation) -> int:
    """Return how many ranges the candidate has committed since it is watched."""
    before = 0 if record.trial is None else record.trial.ranges
    return gained(situation.evidence_of(record.candidate).ranges, before)


def due(record: Record, situation: Situation) -> datetime | None:
    """Return when time alone may change something next."""
    policy = situation.policy
    tried = policy.shadow if record.phase is Phase.SHADOWING and policy.shadow is not None else policy
    times = []
    if record.phase is Phase.RETURNING:
        times.append(record.since + policy.deadline)
    if record.trial is not None and record.phase in (Phase.SHADOWING, Phase.CANARY):
        times += [record.trial.since + tried.duration, record.trial.since + policy.deadline]
    if record.suspicion is not None:
        times.append(record.suspicion.since + tried.patience)
    if record.waiting is not None:
        times.append(record.waiting + policy.deadline)
    pause = policy.pause(record.step)
    if record.rested is not None and pause is not None and pause.duration is not None:
        times.append(record.rested + pause.duration)
    return min((time for time in times if time > situation.now), default=None)


def _counted(record: Record, situation: Situation) -> Record:
    """Take in who is ready: progress, and whether the canary can be watched."""
    mine, aim = situation.fleet(record.candidate), target(record, situation)
    lacks = mine.ready < aim and (mine.wanted > mine.ready or bool(situation.refused))
    record = with_progress(record, mine.ready, situation.now, lacks=lacks)
    if record.phase is Phase.RECREATING:
        return record
    record = quarantine_analysis.heard(record, situation.evidence_of(record.candidate), situation)
    if record.phase is Phase.CANARY and mine.ready < aim:
        return record if record.trial is None else replace(record, trial=None, flaps=record.flaps + 1)
    trial = record.trial or _trial(record, situation)
    if trial.lag is None and situation.lag is not None:
        trial = replace(trial, lag=situation.lag.records)
    return replace(record, trial=trial)


def with_progress(record: Record, ready: int, now: datetime, *, lacks: bool) -> Record:
    """Take in how many members are ready, and whether some are missing."""
    if not lacks:
        record = replace(record, waiting=None)
    elif record.waiting is None or ready > record.reached:
        record = replace(record, waiting=now)
    return replace(record, reached=max(record.reached, ready))


def _trial(record: Record, situation: Situation) -> Trial:
    mine, lag = situation.evidence_of(record.candidate), situation.lag
    return Trial(situation.now, mine.ranges, mine.upload_failures, None if lag is None else lag.records)


def _cause(record: Record, situation: Situation) -> str:
    """Return what looks wrong with the candidate; empty when nothing does."""
    mine, trial = situation.fleet(record.candidate), record.trial
    if mine.sick:
        return mine.sick
    if record.flaps > MOST_FLAPS:
        return f"the canary stopped being ready {record.flaps} times while it was watched"
    if trial is not None and fails_uploads(trial, situation.evidence_of(record.candidate), situation):
        count = gained(situation.evidence_of(record.candidate).upload_failures, trial.upload_failures)
        return f"{plural(count, 'upload')} of it failed while those of the old revision succeed"
    if refused := quarantine_analysis.excess(
        record, situation.evidence_of(record.candidate), situation, situation.policy
    ):
        return refused
    if trial is not None and (grown := _lag_growth(trial, record, situation)):
        return grown
    return _delay(record, situation)


def fails_uploads(trial: Trial, mine: Evidence, situation: Situation) -> bool:
    """Whether more uploads have failed during the trial than may."""
    count = gained(mine.upload_failures, trial.upload_failures)
    last = mine.last_upload_failure
    return count > situation.policy.max_upload_failures and last is not None and last >= trial.since


def is_shared(record: Record, situation: Situation) -> bool:
    """Whether the stable revision cannot be asked how uploads should go, or says that they fail."""
    theirs = situation.evidence_of(record.stable)
    failing = theirs.last_upload_failure is not None and situation.now - theirs.last_upload_failure <= RECENT
    return failing or situation.fleet(record.stable).ready == 0


def _lag_growth(trial: Trial, record: Record, situation: Situation) -> str:
    """Judge the lag of the group only while the stable revision has all its members: else it is they who are missed."""
    lag, old, percent = situation.lag, situation.fleet(record.stable), situation.policy.max_lag_growth
    if lag is None or trial.lag is None or not lag.over_target or not 0 < old.wanted <= old.ready:
        return ""
    if lag.records * 100 <= trial.lag * (100 + percent):
        return ""
    return (
        f"the lag grew from {number(trial.lag)} to {number(lag.records)} records, "
        f"by more than {percent}%, and is over its target"
    )


def _delay(record: Record, situation: Situation) -> str:
    policy, mine, now = situation.policy, situation.fleet(record.candidate), situation.now
    deadline = duration(policy.deadline.total_seconds())
    if record.waiting is not None and now - record.waiting >= policy.deadline:
        why = situation.refused or mine.waits
        count = f"{mine.ready} of {plural(target(record, situation), 'member')} ready"
        return f"{count}, and no progress for {deadline}" + (f": {why}" if why else "")
    if record.phase is not Phase.CANARY or record.trial is None:
        return ""
    if now - record.trial.since < max(policy.deadline, policy.duration) or _is_enough(record, situation):
        return ""
    return _idleness(record, situation)


def _idleness(record: Record, situation: Situation) -> str:
    """Say what a canary that is ready has not done for too long; empty when that may not be its fault."""
    ours, theirs = situation.evidence_of(record.candidate), situation.evidence_of(record.stable)
    deadline = duration(situation.policy.deadline.total_seconds())
    if ours.answers == 0:
        return f"it has not told what it does for {deadline}, while members of the old revision do" * (
            theirs.answers > 0
        )
    if not ours.overdue or theirs.overdue:
        return ""
    done = f"{ranges(record, situation)} of {plural(situation.policy.min_ranges, 'range')}"
    return f"it committed {done} in {deadline}, and records that should be stored wait"


def _is_enough(record: Record, situation: Situation) -> bool:
    return ranges(record, situation) >= situation.policy.min_ranges or is_idle(record, situation)


def _has_passed(record: Record, situation: Situation) -> bool:
    if record.phase is not Phase.CANARY or record.trial is None:
        return False
    if situation.fleet(record.stable).is_broken:  # nothing can be worse, and every minute counts
        return True
    return situation.now - record.trial.since >= situation.policy.duration and _is_enough(record, situation)
