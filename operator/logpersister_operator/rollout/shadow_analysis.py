"""Whether the candidate's shadow stores what the stable revision stores: waiting, passed or failed, with the cause."""

from dataclasses import replace
from datetime import timedelta

from logpersister.manifest.blocks.rollout import ShadowSpec
from logpersister.report.human import duration, plural
from logpersister_operator.rollout import analysis, quarantine_analysis
from logpersister_operator.rollout.analysis import MOST_FLAPS, Finding
from logpersister_operator.rollout.evidence import gained
from logpersister_operator.rollout.inputs import RolloutInputs
from logpersister_operator.rollout.record import RolloutRecord, Trial
from logpersister_operator.rollout.transitions import Phase


def is_wanted(record: RolloutRecord, inputs: RolloutInputs) -> bool:
    """Whether a candidate is to be compared: there is no other one when no old member works, or shall run."""
    return inputs.policy.shadow is not None and inputs.members > 0 and not inputs.fleet(record.stable).is_broken


def members(record: RolloutRecord, inputs: RolloutInputs) -> int:
    """Return how many members the shadow shall have."""
    policy = inputs.policy.shadow
    return policy.members if policy is not None and record.phase is Phase.SHADOWING and not inputs.paused else 0


def watch(record: RolloutRecord, inputs: RolloutInputs, policy: ShadowSpec) -> Finding:
    """Look at the shadow."""
    record = _counted(record, inputs, policy)
    if _fails_uploads(record, inputs) and analysis.is_shared(record, inputs):
        record = replace(record, trial=_trial(inputs))
    cause, passed = _cause(record, inputs, policy), _has_passed(record, inputs, policy)
    return analysis.judged(record, inputs, cause, policy.duration, passed=passed)


def _counted(record: RolloutRecord, inputs: RolloutInputs, policy: ShadowSpec) -> RolloutRecord:
    """Take in who is ready and compares: progress, and whether the shadow can be watched."""
    ready = inputs.shadow.fleet.ready
    record = quarantine_analysis.heard(record, inputs.shadow.evidence, inputs)
    hindered = bool(_hindrance(record, inputs, policy))
    record = analysis.with_progress(record, ready, inputs.now, lacks=hindered)
    if ready < policy.members:
        return record if record.trial is None else replace(record, trial=None, flaps=record.flaps + 1)
    return replace(record, trial=record.trial or _trial(inputs))


def _trial(inputs: RolloutInputs) -> Trial:
    mine = inputs.shadow.evidence
    return Trial(inputs.now, mine.ranges, mine.upload_failures)


def _elapsed(record: RolloutRecord, inputs: RolloutInputs) -> timedelta:
    return timedelta() if record.trial is None else inputs.now - record.trial.since


def _fails_uploads(record: RolloutRecord, inputs: RolloutInputs) -> bool:
    return record.trial is not None and analysis.fails_uploads(record.trial, inputs.shadow.evidence, inputs)


def _cause(record: RolloutRecord, inputs: RolloutInputs, policy: ShadowSpec) -> str:
    shadow, trial = inputs.shadow, record.trial
    if shadow.fleet.sick:
        return shadow.fleet.sick
    if record.flaps > MOST_FLAPS:
        return f"the shadow became unready {record.flaps} times during the analysis"
    if shadow.comparison.differences:
        count = plural(shadow.comparison.differences, "difference")
        return f"{count} from what the old revision stores: {'; '.join(shadow.comparison.examples)}"
    if trial is not None and _fails_uploads(record, inputs):
        count = plural(gained(shadow.evidence.upload_failures, trial.upload_failures), "upload")
        return f"{count} of its shadow failed while those of the old revision succeed"
    if refused := quarantine_analysis.excess(record, shadow.evidence, inputs, policy, "its shadow"):
        return refused
    return _delay(record, inputs, policy)


def _delay(record: RolloutRecord, inputs: RolloutInputs, policy: ShadowSpec) -> str:
    deadline = inputs.policy.progress_deadline
    patience = duration(deadline.total_seconds())
    if record.waiting is not None and inputs.now - record.waiting >= deadline:
        return f"no progress for {patience}: {_hindrance(record, inputs, policy)}"
    if record.trial is None or _elapsed(record, inputs) < max(deadline, policy.duration):
        return ""
    if _is_enough(record, inputs, policy):
        return ""
    mine, theirs = inputs.shadow.evidence, inputs.evidence_of(record.stable)
    compared, committed = inputs.shadow.comparison.ranges, gained(mine.ranges, record.trial.ranges)
    if compared == 0 and committed > 2 * policy.min_ranges:  # the first of a partition may have no counterpart
        return f"its shadow committed {plural(committed, 'range')} in {patience}, of which none could be compared"
    if not mine.overdue or theirs.overdue or theirs.answers == 0:
        return ""
    done = f"{compared} of {plural(policy.min_ranges, 'range')}"
    return f"its shadow compared {done} in {patience}, and records that should be stored wait"


def _hindrance(record: RolloutRecord, inputs: RolloutInputs, policy: ShadowSpec) -> str:
    """Return why nothing can be compared now; empty when something can, or it may not be the shadow's fault."""
    fleet, found = inputs.shadow.fleet, inputs.shadow.comparison
    if fleet.ready < policy.members:
        why = inputs.refused or fleet.waits
        return f"{fleet.ready} of {plural(policy.members, 'member')} of the shadow ready" + (f"; {why}" if why else "")
    if found.error:
        return f"the objects of both revisions cannot be compared: {found.error}"
    if found.answers < policy.members and inputs.evidence_of(record.stable).answers > 0:
        return "the shadow does not report its comparison, while members of the old revision answer"
    return ""


def _is_enough(record: RolloutRecord, inputs: RolloutInputs, policy: ShadowSpec) -> bool:
    return inputs.shadow.comparison.ranges >= policy.min_ranges or _is_idle(record, inputs)


def _is_idle(record: RolloutRecord, inputs: RolloutInputs) -> bool:
    """Whether the shadow has nothing to commit, and what it has committed is compared, or cannot be in time."""
    mine, compared = inputs.shadow.evidence, inputs.shadow.comparison.ranges
    if mine.answers == 0 or not (mine.partitions == 0 or mine.behind == 0):
        return False
    return compared >= mine.ranges or _elapsed(record, inputs) >= inputs.policy.progress_deadline


def _has_passed(record: RolloutRecord, inputs: RolloutInputs, policy: ShadowSpec) -> bool:
    found = inputs.shadow.comparison
    if record.trial is None or found.answers < policy.members or found.error:
        return False
    return _elapsed(record, inputs) >= policy.duration and _is_enough(record, inputs, policy)
