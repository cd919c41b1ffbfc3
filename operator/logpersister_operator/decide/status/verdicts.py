"""What is found about each aspect of a resource. docs/status.md lists every reason with what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from logpersister.ranges import TopicPartition
from logpersister.report.human import duration, number, plural
from logpersister_operator.decide.conditions import Aspect, Obstacle, Verdict, no, unknown, yes
from logpersister_operator.decide.reasons import Reason, upload_reason
from logpersister_operator.decide.reported import Reported
from logpersister_operator.decide.status import upload_failures
from logpersister_operator.decide.validity import Validity
from logpersister_operator.observed_state import KnownLag, LagAnswer, MemberReport, UnknownLag

_ABOUT_THE_SPEC: Final = frozenset({Reason.SPEC_INVALID, Reason.REFUSED, Reason.NAME_TAKEN, Reason.GROUP_SHARED})
"""Reasons with which members that are ready run something else than the spec says."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """How far the members are."""

    wanted: int
    ready: int
    """Ready members of whatever revision."""
    handed_over: bool
    """No other revision runs any more."""
    revision: str | None
    lead_ready: int = 0
    """Ready members of that revision."""
    paused: bool = False
    doing: tuple[Reason, str] | None = None
    """What a rollout does, as a reason and in words."""
    awaits: str = ""
    """Why a rollout that the operator's settings cause has not begun; empty when there is none."""
    says: str = ""
    """What the first member says that waits for something."""

    @property
    def complete(self) -> bool:
        return self.ready >= self.wanted and self.handed_over

    @property
    def old(self) -> int:
        """Ready members of other revisions."""
        return self.ready - self.lead_ready

    @property
    def count(self) -> str:
        """Ready members in words, those of the old revision apart."""
        new = f"{self.lead_ready} of {plural(self.wanted, 'member')} of revision {self.revision} ready"
        return (new if self.handed_over else f"{new}; of the old revision {self.old or 'none'}") + self.says

    @property
    def short(self) -> str:
        """Ready members as ``kubectl get`` shows them: ``1/3``, and ``1/3+2`` with two of the old revision."""
        return f"{self.lead_ready}/{self.wanted}" + (f"+{self.old}" if self.old else "")

    @property
    def progress(self) -> tuple[Reason, str]:
        """What goes on, as a reason and in words."""
        if self.doing is not None:
            return self.doing
        if self.ready < self.wanted:
            return Reason.STARTING_MEMBERS, self.count
        return Reason.REMOVING_OLD_REVISION, f"{self.count}; members of the old revision leave"


def spec_valid(validity: Validity, running: str | None) -> Verdict:
    if validity.valid:
        return yes(Aspect.SPEC_VALID, Reason.VALID, "the spec is valid")
    goes_on = "nothing runs" if validity.runs is None else f"revision {running} continues with the last valid spec"
    return no(Aspect.SPEC_VALID, Reason.SPEC_INVALID, f"{validity.problems}; {goes_on}")


def paused(*, is_paused: bool) -> Verdict:
    if is_paused:
        message = "paused by annotation: no member runs; remove the annotation logpersister.dev/paused to continue"
        return yes(Aspect.PAUSED, Reason.PAUSED, message)
    return no(Aspect.PAUSED, Reason.ACTIVE, "not paused")


def reconciliation_paused() -> tuple[Verdict, Verdict]:
    """Return the conditions of a resource of which nothing may be changed."""
    message = (
        "paused by annotation: members go on as they are, and neither the spec nor a rollout is followed; "
        "remove the annotation logpersister.dev/reconcile to continue"
    )
    reason = Reason.RECONCILIATION_PAUSED
    return no(Aspect.RECONCILING, reason, message), yes(Aspect.RECONCILIATION_PAUSED, reason, message)


def ready(readiness: Readiness, hindered: Obstacle | None) -> Verdict:
    """Whether all members of the wanted revision are in the group: the machinery, not the flow of records."""
    if readiness.paused:
        return no(Aspect.READY, Reason.PAUSED, "paused: no member runs")
    if hindered is not None and (not readiness.complete or hindered.reason in _ABOUT_THE_SPEC):
        return no(Aspect.READY, hindered.reason, hindered.message)
    if readiness.complete:
        return yes(Aspect.READY, Reason.MEMBERS_READY, f"{plural(readiness.wanted, 'member')} ready")
    goes_on, _ = readiness.progress
    is_missed = readiness.ready < readiness.wanted and goes_on is not Reason.RECREATING
    return no(Aspect.READY, Reason.MEMBERS_NOT_READY if is_missed else goes_on, readiness.count)


def reconciling(readiness: Readiness, hindered: Obstacle | None) -> Verdict:
    if hindered is not None:
        return no(Aspect.RECONCILING, Reason.STALLED, "waits for somebody to act: see condition Stalled")
    if readiness.paused and readiness.ready:
        return yes(Aspect.RECONCILING, Reason.PAUSING, f"{plural(readiness.ready, 'member')} about to leave")
    if readiness.paused:
        return no(Aspect.RECONCILING, Reason.PAUSED, "paused: no member runs")
    if readiness.complete and readiness.awaits:
        message = f"the operator's settings make another revision, which waits for its turn: {readiness.awaits}"
        return yes(Aspect.RECONCILING, Reason.WAITING_FOR_TURN, message)
    if readiness.complete:
        return no(Aspect.RECONCILING, Reason.UP_TO_DATE, f"revision {readiness.revision} runs as the spec says")
    return yes(Aspect.RECONCILING, *readiness.progress)


def stalled(hindered: Obstacle | None) -> Verdict:
    if hindered is None:
        return no(Aspect.STALLED, Reason.PROGRESSING, "nobody needs to act")
    return yes(Aspect.STALLED, hindered.reason, hindered.message)


def reconciled() -> Verdict:
    """A decision that was made is written; `act/reconciler.py` tells of one that was not."""
    return yes(Aspect.RECONCILED, Reason.COMPLETE, "the last reconciliation was complete")


def uploads_succeeding(reported: Reported) -> Verdict:
    """Judge by what members say: the failure of an upload that is present."""
    aspect, found = Aspect.UPLOADS_SUCCEEDING, reported.documents
    errors = (f"{name}: {report.error}" for name, report in sorted(reported.by_name.items()))
    waits = reported.unanswered(aspect, "nothing is uploaded", next(errors, "no member runs"))
    if waits is not None:
        return waits
    failure = upload_failures.present(found, reported.now)
    if failure is None:
        return yes(aspect, Reason.SUCCEEDING, "no upload has failed in the last three minutes")
    hour = sum(document["uploads"]["failuresLastHour"] for document in found)
    where = f"{upload_failures.place(failure)}; {plural(hour, 'failure')} in the last hour"
    return no(aspect, upload_reason(failure.reason), f"{failure.message} ({where}); it is retried")


def lag_within_target(lag: LagAnswer, reported: Reported) -> Verdict:
    """Judge by what Kafka says; reports of members name the owner of a partition."""
    aspect = Aspect.LAG_WITHIN_TARGET
    if lag is None:
        not_asked = unknown(aspect, Reason.LAG_UNKNOWN, "the lag is unknown: not asked yet")
        return reported.previous(aspect) or not_asked
    if isinstance(lag, UnknownLag):
        return unknown(aspect, Reason.LAG_UNKNOWN, f"the lag is unknown: {lag.message}")
    return _judged(lag, reported.by_name, is_paused=reported.is_paused)


def _judged(lag: KnownLag, reports: Mapping[str, MemberReport], *, is_paused: bool) -> Verdict:
    aspect, summary = Aspect.LAG_WITHIN_TARGET, lag.summary
    behind = f"{plural(summary.records, 'record')} behind"
    age = f"{behind}, the oldest {duration(summary.seconds)} old" if summary.records else "nothing waits"
    if is_paused:
        return unknown(aspect, Reason.PAUSED, f"paused; {age}")
    if lag.stuck:
        worst = lag.stuck[0]
        more = f" (and {len(lag.stuck) - 1} more)" if len(lag.stuck) > 1 else ""
        message = (
            f"partition {worst.partition}{_owner(worst.partition, reports)} has not moved for "
            f"{duration(worst.seconds)} with {number(worst.records)} records waiting{more}"
        )
        return no(aspect, Reason.PARTITION_STUCK, message)
    if lag.unreadable:
        message = f"partitions cannot be read: {lag.unreadable}; of all others, {age}"
        return no(aspect, Reason.PARTITION_UNREADABLE, message)
    if lag.over_target:
        topics = ", ".join(lag.over_target)
        return no(aspect, Reason.BEHIND, f"{age}, which is more than the target of {topics}")
    if lag.missing_topics:
        return yes(aspect, Reason.TOPICS_MISSING, f"{age}; missing topics: {', '.join(lag.missing_topics)}")
    return yes(aspect, Reason.WITHIN_TARGET, age)


def _owner(partition: TopicPartition, reports: Mapping[str, MemberReport]) -> str:
    for name, report in sorted(reports.items()):
        if str(partition) in ((report.document or {}).get("assignment") or {}).get("partitions", ()):
            return f" of member {name}"
    return ""
