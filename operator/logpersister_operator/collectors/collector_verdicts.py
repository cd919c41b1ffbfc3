"""What is found about each aspect of a FeedCollector. Pure. docs/status.md lists every reason with what to do."""

from collections.abc import Sequence
from dataclasses import dataclass

from logpersister.report.human import plural
from logpersister_operator.collectors.observed import CollectorState
from logpersister_operator.collectors.reports import ReplicaReport
from logpersister_operator.crd.status_collector import Feeds, Replicas
from logpersister_operator.decide.conditions import Aspect, Obstacle, Verdict, no, previous_verdict, unknown, yes
from logpersister_operator.decide.health.observed_fleets import refused_pods
from logpersister_operator.decide.health.pod_failures import pod_failure
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.status.verdicts import reconciled, stalled

MOST_NAMED = 3
"""Silent feeds that a message names."""


@dataclass(frozen=True, slots=True)
class Course:
    """How far a collector is, and what keeps it from going on."""

    replicas: Replicas
    is_handed_over: bool
    """Whether no replica runs an older revision."""
    hindered: Obstacle | None

    @property
    def is_complete(self) -> bool:
        return self.is_handed_over and self.replicas.ready >= self.replicas.desired

    @property
    def count(self) -> str:
        found = self.replicas
        return f"{found.ready} of {plural(found.desired, 'replica')} ready, {found.updated} with the present spec"


def course_of(state: CollectorState) -> Course:
    """Return how far the replicas are, by what Kubernetes says of their StatefulSet."""
    found, manifest, hindered = state.stateful_set, state.parsed.manifest, _hindrance(state)
    if found is None:
        desired = 0 if manifest is None else manifest.spec.replicas
        return Course(Replicas(desired=desired, ready=0, updated=0), is_handed_over=True, hindered=hindered)
    desired = found.replicas if manifest is None else manifest.spec.replicas
    if found.observed_generation < found.generation:
        replicas = Replicas(desired=desired, ready=found.ready_replicas, updated=0)
        return Course(replicas, is_handed_over=False, hindered=hindered)
    handed_over = found.update_revision == found.current_revision or found.updated_replicas >= found.replicas
    updated = found.updated_replicas if found.update_revision != found.current_revision else found.replicas
    replicas = Replicas(desired=desired, ready=found.ready_replicas, updated=updated)
    return Course(replicas, is_handed_over=handed_over, hindered=hindered)


def _hindrance(state: CollectorState) -> Obstacle | None:
    """Return what somebody must do something about before the spec can run; the first that there is."""
    if state.parsed.manifest is None:
        return Obstacle(Reason.SPEC_INVALID, state.parsed.problems)
    if state.missing:
        what = f"missing: {', '.join(state.missing)}; create it, or correct the name in the spec"
        return Obstacle(Reason.SECRET_MISSING, what)
    if state.refusals:
        first = min(state.refusals)
        refusal = state.refusals[first]
        return Obstacle(Reason.NAME_TAKEN if refusal.taken else Reason.REFUSED, refusal.about(first))
    refused = refused_pods(state.stateful_set, state.pods, state.told)
    return refused or pod_failure(state.pods, state.now, state.told)


def verdicts(state: CollectorState, course: Course, feeds: Feeds | None) -> list[Verdict]:
    """Return what is found, in the order in which conditions are shown."""
    return [
        _ready(course),
        _reconciling(course),
        stalled(course.hindered),
        reconciled(),
        _spec_valid(state),
        _feeds_speaking(state, feeds),
        _kafka_reachable(state),
    ]


def _ready(course: Course) -> Verdict:
    hindered = course.hindered
    if hindered is not None:
        return no(Aspect.READY, hindered.reason, hindered.message)
    if course.is_complete:
        return yes(Aspect.READY, Reason.REPLICAS_READY, f"{plural(course.replicas.desired, 'replica')} ready")
    return no(Aspect.READY, Reason.REPLICAS_NOT_READY, course.count)


def _reconciling(course: Course) -> Verdict:
    if course.hindered is not None:
        return no(Aspect.RECONCILING, Reason.STALLED, "waits for somebody to act: see condition Stalled")
    if course.is_complete:
        return no(Aspect.RECONCILING, Reason.UP_TO_DATE, "the replicas run as the spec says")
    reason = Reason.STARTING_REPLICAS if course.is_handed_over else Reason.ROLLING_OUT
    return yes(Aspect.RECONCILING, reason, course.count)


def _spec_valid(state: CollectorState) -> Verdict:
    if state.parsed.manifest is not None:
        return yes(Aspect.SPEC_VALID, Reason.VALID, "the spec is valid")
    goes_on = "nothing runs" if state.stateful_set is None else "the replicas go on with the last valid spec"
    return no(Aspect.SPEC_VALID, Reason.SPEC_INVALID, f"{state.parsed.problems}; {goes_on}")


def _feeds_speaking(state: CollectorState, feeds: Feeds | None) -> Verdict:
    aspect = Aspect.FEEDS_SPEAKING
    if feeds is None:
        return _unanswered(state, aspect)
    if not feeds.silent:
        failing = f"; the last poll of {plural(feeds.failing, 'feed')} failed" if feeds.failing else ""
        return yes(aspect, Reason.FEEDS_SPEAK, f"{plural(feeds.total, 'feed')}, none is silent{failing}")
    silent = [f"{one.id} ({one.reason})" for one in feeds.worst if one.silent][:MOST_NAMED]
    more = f" and {feeds.silent - len(silent)} more" if feeds.silent > len(silent) else ""
    message = f"{feeds.silent} of {plural(feeds.total, 'feed')} give nothing new: {', '.join(silent)}{more}"
    return no(aspect, Reason.FEEDS_SILENT, message)


def _kafka_reachable(state: CollectorState) -> Verdict:
    aspect, reports = Aspect.KAFKA_REACHABLE, state.replica_reports()
    if not reports:
        return _unanswered(state, aspect)
    away = [one for one in reports if one.kafka.get("away")]
    if away:
        return no(aspect, Reason.KAFKA_AWAY, f"{_away(away)}; records wait in the spool, polls go on")
    return yes(aspect, Reason.KAFKA_TAKES_RECORDS, "records reach Kafka")


def _away(reports: Sequence[ReplicaReport]) -> str:
    first = reports[0]
    more = f" (and {len(reports) - 1} more)" if len(reports) > 1 else ""
    return f"replica {first.replica}{more} since {first.kafka.get('awaySince')}: {first.kafka['away']}"


def _unanswered(state: CollectorState, aspect: Aspect) -> Verdict:
    """Return what holds while no replica answers: what held before this process asked, then that nobody does."""
    before = previous_verdict(state.before.conditions, aspect)
    if state.reports is None and before is not None:
        return before
    said = next((f"{name}: {one.error}" for name, one in sorted((state.reports or {}).items())), "no replica runs")
    return unknown(aspect, Reason.NO_REPLICA_ANSWERS, said)
