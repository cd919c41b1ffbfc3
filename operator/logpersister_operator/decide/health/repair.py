"""Whether a stalled member, or one whose node is lost, is restarted: only if that may help, and within a budget. Pure.

A restart is written into the status before it is done. So an operator that is killed in between has spent one restart
of the budget, and there are never more restarts than the budget allows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from logpersister.manifest.blocks.repair import RepairSpec
from logpersister.manifest.spec import Spec
from logpersister.report.human import duration, instant, plural
from logpersister_operator.crd.status_members import MOST_RESTARTS, Restart
from logpersister_operator.decide.conditions import Aspect, Verdict, no, unknown, yes
from logpersister_operator.decide.health.observed_fleets import is_overdue, ordinal
from logpersister_operator.decide.health.stalled_members import (
    Cause,
    StalledMember,
    StalledMembers,
    find_stalled_members,
    stores,
)
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.reported import Reported
from logpersister_operator.field_types import shortened
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import KnownLag, LagAnswer, OwnObjects, UnknownLag
from logpersister_operator.render.application import REVISION_LABEL
from logpersister_operator.rollout.rollout_events import Event

RESTARTED: Final = "MemberRestarted"
"""Reason of the Event of a restart."""
DELETED: Final = "LostMemberDeleted"
"""Reason of the Event of a pod that was deleted because its node is lost."""
HOUR: Final = timedelta(hours=1)
SETTLING: Final = timedelta(minutes=10)
"""How long a member that was restarted may take to be ready again, before another one may be restarted."""
LONGEST_DISTANCE: Final = timedelta(hours=6)
MOST_DOUBLINGS: Final = 16
"""So many doublings of a second exceed the longest distance, and of a day are still a time that Python can say."""
FORGOTTEN: Final = timedelta(days=1)
"""A member that has run for so long since its last restart has none in a row any more."""
_ASPECT: Final = Aspect.MEMBERS_PROGRESSING


@dataclass(frozen=True, slots=True)
class RepairDecision:
    """The verdict on the members, and the restarts that follow from it."""

    verdict: Verdict
    restarts: tuple[Restart, ...] = ()
    """The record, from now on."""
    events: Sequence[Event] = ()

    def pods(self, own: OwnObjects, now: datetime) -> list[Pod]:
        """Return what is to be deleted: pods whose restart was decided, by whomever, and that are still there.

        Those that are on their way out are to go at once.
        """
        decided = {(one.pod, bool(one.forced)) for one in self.restarts if now - one.time < SETTLING}
        return [pod for pod in own.pods() if (pod.uid, pod.is_leaving) in decided]


def decide_repair(
    spec: Spec | None, own: OwnObjects, reported: Reported, lag: LagAnswer, *, hands_off: str
) -> RepairDecision:
    """Decide what is done about stalled members, and about one whose node is lost.

    Args:
        hands_off: why no member may be restarted now; empty when restarts are allowed.
    """
    restarts, paused = reported.before.restarts, reported.is_paused
    if spec is None or paused:
        nobody = "paused: no member runs" if paused else "no member runs"
        return RepairDecision(unknown(_ASPECT, Reason.PAUSED if paused else Reason.NO_MEMBER_ANSWERS, nobody), restarts)
    budget = Budget(spec.auto_repair, restarts, reported.now)
    if (lost := _lost(own, budget)) is not None:
        return _give_up(lost, budget, hands_off)
    found = None if reported.by_pod is None else find_stalled_members(spec, own, reported, lag)
    stalled = None if found is None else _next(reported, found)
    before = reported.previous(_ASPECT)
    if found is None or stalled is None:
        # A process that has not watched for long enough does not take back what the one before has found.
        is_new = _is_bad(before) and not (isinstance(lag, KnownLag) and lag.watched)
        fine = yes(_ASPECT, Reason.MEMBERS_PROGRESS, "no member hangs")
        return RepairDecision(_not_judged(before, lag) if found is None or is_new else fine, restarts)
    if found.alike:
        every = f"{len(found.found) + len(found.failing)} of {plural(found.holders, 'member')}"
        message = f"{every} hang or fail alike; {stalled}; not restarted; check what they share (Kafka, bucket, nodes)"
        return _with_event(before, RepairDecision(no(_ASPECT, Reason.MEMBERS_HANG_ALIKE, message), restarts))
    reason, why_not = _reason_to_wait(own.pods(), stalled, budget, hands_off)
    if why_not:
        return _with_event(before, RepairDecision(no(_ASPECT, reason, f"{stalled}; {why_not}"), restarts))
    return _restart(stalled, budget)


@dataclass(frozen=True, slots=True)
class Budget:
    """What restarts are still allowed."""

    policy: RepairSpec
    restarts: tuple[Restart, ...]
    now: datetime

    def spent(self) -> int:
        """Return how many restarts there were in the last hour."""
        return sum(self.now - one.time < HOUR for one in self.restarts)

    def in_a_row(self, member: str) -> int:
        last = self._last(member)
        return 0 if last is None or self.now - last.time > FORGOTTEN else last.count

    def not_before(self, member: str) -> datetime | None:
        """Return when a member may be restarted again: the distance doubles each time."""
        last, count = self._last(member), self.in_a_row(member)
        if last is None or not count:
            return None
        doubled = self.policy.restart_after * 2.0 ** min(count, MOST_DOUBLINGS)
        return last.time + min(LONGEST_DISTANCE, doubled)

    def spend(self, pod: Pod, cause: str, *, forced: bool = False) -> tuple[Restart, ...]:
        """Return the record with one more restart; of old ones only so many are kept as are needed."""
        time, count = self.now.replace(microsecond=0), self.in_a_row(pod.name) + 1
        new = Restart(
            member=pod.name, pod=pod.uid, time=time, count=count, cause=shortened(cause), forced=forced or None
        )
        kept = [one for one in self.restarts if one.member != pod.name or self.now - one.time < HOUR]
        return (*kept, new)[-MOST_RESTARTS:]

    def _last(self, member: str) -> Restart | None:
        return next((one for one in reversed(self.restarts) if one.member == member), None)


def _next(reported: Reported, found: StalledMembers) -> StalledMember | None:
    """Return the next member to restart: a stalled one, else one that fails while others store."""
    if found.found:
        return found.found[0]
    failing = [stalled.member for stalled in found.failing]
    return next((stalled for stalled in found.failing if stores(reported, stalled.since, failing)), None)


def _reason_to_wait(pods: Iterable[Pod], stalled: StalledMember, budget: Budget, hands_off: str) -> tuple[Reason, str]:
    """Return why a member is not restarted now; an empty text when nothing speaks against it."""
    policy = budget.policy
    if policy.max_restarts_per_hour == 0:
        hands_off = "spec.autoRepair.maxRestartsPerHour is 0"
    elif stalled.cause is Cause.NO_EXECUTORS:
        hands_off = "a new member would have none either; see why its executors do not start"
    if hands_off:
        return Reason.MEMBER_HANGS, f"not restarted: {hands_off}"
    waits_for = _restarting(pods, budget)
    if waits_for:
        return Reason.MEMBER_HANGS, f"not restarted before {waits_for}, the last one restarted, is ready again"
    if budget.spent() >= policy.max_restarts_per_hour:
        many = plural(budget.spent(), "restart")
        return (
            Reason.RESTARTS_USED_UP,
            f"not restarted: {many} in the last hour; spec.autoRepair.maxRestartsPerHour allows no more",
        )
    earliest = max(stalled.since + policy.restart_after, budget.not_before(stalled.member) or stalled.since)
    if budget.now < earliest:
        at = instant(earliest)
        return Reason.MEMBER_HANGS, f"it is restarted at {at} unless it makes progress"
    return Reason.MEMBER_HANGS, ""


def _restart(stalled: StalledMember, budget: Budget) -> RepairDecision:
    after = duration(budget.policy.restart_after.total_seconds())
    count = budget.in_a_row(stalled.member) + 1
    row = f" (number {count} in a row)" if count > 1 else ""
    message = f"{stalled}; it has hung for {after} or more and is restarted{row}"
    event = Event(RESTARTED, message, warning=True)
    return RepairDecision(no(_ASPECT, Reason.MEMBER_HANGS, message), budget.spend(stalled.pod, stalled.cause), [event])


def _lost(own: OwnObjects, budget: Budget) -> Pod | None:
    """Return a pod that is to be given up with its node; None when there is none, or each was given up already."""
    after = budget.policy.node_lost_after
    if after is None:
        return None
    given_up = {one.pod for one in budget.restarts if one.forced}
    wanted = {revision: one.replicas for revision, one in own.stateful_sets().items()}
    for pod in own.pods():
        comes_back = ordinal(pod) < wanted.get(pod.labels.get(REVISION_LABEL, ""), 0)
        if comes_back and pod.node and pod.uid not in given_up and is_overdue(pod, budget.now, after):
            return pod
    return None


def _give_up(pod: Pod, budget: Budget, hands_off: str) -> RepairDecision:
    """Delete a pod whose node is lost. Others need not be ready again before: a node may take several with it."""
    if budget.spent() >= budget.policy.max_restarts_per_hour:
        many = plural(budget.spent(), "restart")
        hands_off = f"{many} in the last hour; spec.autoRepair.maxRestartsPerHour allows no more"
    cause = f"its node {pod.node} does not say that pod {pod.name} has ended"
    if hands_off:
        waits = no(_ASPECT, Reason.NODE_LOST, f"member {pod.name} waits: {cause}; not deleted: {hands_off}")
        return RepairDecision(waits, budget.restarts)
    message = f"member {pod.name} waits: {cause}; the pod is deleted with force, so that another node can start it"
    event = Event(DELETED, message, warning=True)
    verdict = no(_ASPECT, Reason.NODE_LOST, message)
    return RepairDecision(verdict, budget.spend(pod, cause, forced=True), [event])


def _restarting(pods: Iterable[Pod], budget: Budget) -> str:
    """Return the member that was restarted and is not ready again yet; empty when there is none."""
    back = {pod.name: pod.uid for pod in pods if pod.is_ready}
    for one in budget.restarts:
        if back.get(one.member, one.pod) == one.pod and budget.now - one.time < SETTLING:
            return one.member
    return ""


def _with_event(before: Verdict | None, decided: RepairDecision) -> RepairDecision:
    """Add an event when it is news why nothing is done; that the condition turns false is an event anyway."""
    verdict = decided.verdict
    if before is None or not _is_bad(before) or verdict.reason in (before.reason, Reason.MEMBER_HANGS):
        return decided
    return replace(decided, events=[Event(verdict.reason, verdict.message, warning=True)])


def _is_bad(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.status == "False"


def _not_judged(before: Verdict | None, lag: LagAnswer) -> Verdict:
    """Return the previous verdict, unless Kafka cannot be asked at all."""
    if isinstance(lag, UnknownLag):
        return unknown(_ASPECT, Reason.LAG_UNKNOWN, "Kafka does not say which member owns which partitions")
    waits = unknown(_ASPECT, Reason.NO_MEMBER_ANSWERS, "the group rebalances, or was not asked yet")
    return before or waits
