"""Whether the number of members of a resource may follow its lag now, and the condition about it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from logpersister.manifest.blocks.autoscale import AutoscaleSpec
from logpersister.manifest.spec import Spec
from logpersister.report.human import duration, instant, plural
from logpersister_operator.crd.status_autoscale import Autoscale
from logpersister_operator.decide.conditions import Aspect, Verdict, no, yes
from logpersister_operator.decide.health.observed_fleets import ordinal
from logpersister_operator.decide.lag_targets import target_lag_seconds
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.scaling.autoscaler import (
    LOOK,
    AutoscaleDecision,
    AutoscaleInputs,
    autoscale,
    begin,
    change,
    hold,
)
from logpersister_operator.decide.validity import manifest_of_revision
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import KnownLag, LagAnswer, OwnObjects, UnknownLag
from logpersister_operator.rollout.fleet import NONE, Fleet
from logpersister_operator.rollout.record import RolloutRecord
from logpersister_operator.rollout.rollout_events import Event
from logpersister_operator.rollout.transitions import Phase

_ROLLING_OUT: Final = (Reason.ROLLING_OUT, "the number does not change until the rollout has ended")
_OTHER_WAIT: Final = (
    Reason.ROLLING_OUT,
    "the running revision has another upload.maxAge or cycleInterval than the spec",
)
LEAST_SPAN: Final = 1.0
"""Seconds between the age up to which records wait anyway and the target."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the number of members depends on beside the spec."""

    now: datetime
    before: Autoscale | None
    """The section of the last status."""
    record: RolloutRecord | None
    fleets: Mapping[str, Fleet]
    """Members by revision."""
    own: OwnObjects
    lag: LagAnswer
    stands_still: tuple[Reason, str] | None
    """Why nobody may touch members now; None when somebody may."""
    lacks_secret: bool


def decide(spec: Spec, revision: str, seen: Situation) -> AutoscaleDecision | None:
    """Decide how many members of a revision there shall be; None when that is ``spec.members``."""
    if spec.autoscale is None:
        return None
    state = seen.before or begin(spec.autoscale, _first(spec, seen))
    runs = _runs_alone(spec, revision, seen)
    held = _hindrance(seen, state, None if runs is None else seen.fleets.get(runs, NONE).ready)
    if runs is None or held is not None:
        fewer = None if runs is None or seen.stands_still else _without_room(spec, state, runs, seen)
        return fewer or hold(spec.autoscale, state, *(held or _ROLLING_OUT))
    if runs != revision and not _waits_alike(seen.own, spec, runs):
        return hold(spec.autoscale, state, *_OTHER_WAIT)
    lag = seen.lag
    if lag is None:
        return hold(spec.autoscale, state, Reason.LAG_UNKNOWN, "the lag is unknown: not asked yet", forget=False)
    if isinstance(lag, UnknownLag) or lag.flow is None or lag.unreadable:
        # Without some partitions rates would jump by what these hold.
        return hold(spec.autoscale, state, Reason.LAG_UNKNOWN, "the lag is not known, or not of all partitions")
    return autoscale(spec.autoscale, state, autoscale_inputs(lag, spec), runs)


def autoscale_inputs(lag: KnownLag, spec: Spec) -> AutoscaleInputs:
    """Return the lag as the inputs of autoscaling."""
    assert lag.flow is not None
    oldest = {topic.name: topic for topic in (_Topic(name, spec) for name in lag.summary.topics)}
    moving = {name: age for name, age in lag.flow.ages.items() if age is not None and name in oldest}
    worst = max(moving, key=lambda name: oldest[name].lag_ratio(moving[name]), default=None)
    everything = {name: topic.seconds for name, topic in lag.summary.topics.items()}
    ratios = [math.inf if age is None else oldest[name].lag_ratio(age) for name, age in everything.items()]
    return AutoscaleInputs(
        at=lag.summary.observed_at,
        lag_ratio=0.0 if worst is None else oldest[worst].lag_ratio(moving[worst]),
        overall_lag_ratio=max(ratios, default=math.inf),
        age=0.0 if worst is None else moving[worst],
        target=min((topic.target for topic in oldest.values()), default=1.0) if worst is None else oldest[worst].target,
        partitions=lag.summary.partitions,
        stored=lag.flow.stored,
        written=lag.flow.written,
    )


def verdict(bounds: AutoscaleSpec, scaling: AutoscaleDecision, before: Verdict | None) -> Verdict:
    """Return whether the number of members follows the lag, and what was done last.

    ``before`` is the last verdict, while this process has not asked for the lag: a new process is no news.
    """
    state = scaling.state
    if before is not None and scaling.reason is Reason.LAG_UNKNOWN:
        return before
    message = f"{state.members} members, of {bounds.min_members} to {bounds.max_members}: {scaling.words}"
    if state.last is not None:
        at = instant(state.last.time)
        message += f"; last, from {state.last.before} to {state.last.after} at {at}: {state.last.cause}"
    return (yes if scaling.acts else no)(Aspect.AUTOSCALING, scaling.reason, message)


def events(scaling: AutoscaleDecision | None) -> list[Event]:
    """Return the event of a change."""
    if scaling is None or scaling.change is None:
        return []
    change = scaling.change
    reason = Reason.SCALED_UP if change.after > change.before else Reason.SCALED_DOWN
    return [Event(reason, f"from {change.before} to {change.after} members: {change.cause}")]


def again(now: datetime, scaling: AutoscaleDecision | None) -> timedelta | None:
    """Return when to look again though nothing changes."""
    if scaling is None or scaling.due is None:
        return None
    return scaling.due - now if scaling.due > now else LOOK


class _Topic:
    """How long records of a topic wait however many members there are, and how long they may."""

    def __init__(self, name: str, spec: Spec) -> None:
        self.name = name
        self.waits = (spec.limits_of(name).max_age + spec.cycle_interval).total_seconds()
        own = None if spec.autoscale is None else spec.autoscale.target_lag
        target = target_lag_seconds(spec, name) if own is None else own.total_seconds()
        self.target = max(target, self.waits + LEAST_SPAN)

    def lag_ratio(self, age: float) -> float:
        return max(0.0, age - self.waits) / (self.target - self.waits)


def _first(spec: Spec, seen: Situation) -> int:
    """Return the number to begin with: as many as run, so that neither a new field nor a lost status stops members."""
    there = max((fleet.wanted for fleet in seen.fleets.values()), default=0)
    is_calm = seen.record is None or seen.record.phase is Phase.STEADY
    return there if there and is_calm else spec.members


def _runs_alone(spec: Spec, wanted: str, seen: Situation) -> str | None:
    """Return the revision of all members; None while a rollout adds or removes members of another one."""
    record = seen.record
    if record is None or record.stable is None:
        return None
    is_settled = record.phase is Phase.STEADY and record.stable == wanted
    is_refused = record.phase is Phase.HALTED and record.failure_of(wanted, spec.rollout.attempt) is not None
    others = (fleet for revision, fleet in seen.fleets.items() if revision != record.stable)
    return record.stable if (is_settled or is_refused) and all(one.is_gone for one in others) else None


def _waits_alike(own: OwnObjects, spec: Spec, revision: str) -> bool:
    """Whether records wait in another revision for as long as the spec says: else their age means nothing."""
    manifest = manifest_of_revision(own, revision)
    if manifest is None:
        return False
    return _waiting(manifest.spec) == _waiting(spec)


def _waiting(spec: Spec) -> object:
    overrides = [(one.topics, one.topic_pattern, one.upload) for one in spec.overrides]
    return spec.upload, overrides, spec.cycle_interval


def _without_room(spec: Spec, state: Autoscale, runs: str, seen: Situation) -> AutoscaleDecision | None:
    """Give up members that have no node for long: they would keep the number from following the lag for ever."""
    assert spec.autoscale is not None
    patience = spec.rollout.progress_deadline
    pods = seen.own.pods_by_revision().get(runs, [])
    members = max(schedulable_members(pods, state.members, seen.now - patience), spec.autoscale.min_members)
    if members >= state.members:
        return None
    without = plural(state.members - members, "member")
    cause = f"there was no node for {without} for {duration(patience.total_seconds())}"
    return change(state, members, seen.now, cause)


def schedulable_members(pods: Sequence[Pod], members: int, since: datetime) -> int:
    """Return how many members remain without those at the end that have waited for a node since then or longer.

    A StatefulSet takes its members at the end away first.
    """
    waiting = {ordinal(pod) for pod in pods if (found := pod.without_node) and found.since and found.since <= since}
    while members and members - 1 in waiting:
        members -= 1
    return members


def _hindrance(seen: Situation, state: Autoscale, ready: int | None) -> tuple[Reason, str] | None:
    """Return why nothing may change now, when so many members are ready."""
    if seen.stands_still is not None:
        return seen.stands_still
    if seen.record is None or seen.record.phase is Phase.STARTING:
        return Reason.STARTING_MEMBERS, "the first members start"
    if ready is None:
        return _ROLLING_OUT
    if seen.lacks_secret:
        return Reason.SECRET_MISSING, "a Secret is missing"
    if ready < state.members:
        return Reason.MEMBERS_NOT_READY, f"waits for all of them: {ready} ready"
    return None
