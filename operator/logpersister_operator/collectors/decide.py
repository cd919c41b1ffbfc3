"""The decision about one FeedCollector: from everything that is observed to everything that is to be done. Pure."""

from collections.abc import Sequence

from logpersister.forms.quantity import format_size
from logpersister_operator.cluster.kinds import CHILDREN, CONFIG_MAP, OF_EXECUTORS, Document, Reference
from logpersister_operator.collectors.collector_verdicts import Course, course_of, verdicts
from logpersister_operator.collectors.observed import CollectorState
from logpersister_operator.collectors.reports import told_by
from logpersister_operator.crd.status_collector import CollectorStatus, CollectorSummary, Spool
from logpersister_operator.decide.conditions import Verdict, conditions
from logpersister_operator.decide.status.transition_events import transitions
from logpersister_operator.observed_objects import Child
from logpersister_operator.plan import Plan
from logpersister_operator.render.application import REVISION_LABEL


def decide(state: CollectorState) -> Plan:
    """Decide what is to be done now.

    What runs goes on while the spec is invalid or a Secret is missing: a pod that is made then would not start.
    """
    status = status_of(state)
    document = status.model_dump(mode="json", by_alias=True, exclude_none=True)
    events = transitions(state.before.conditions, status.conditions)
    app = state.app
    if app is None or state.missing or state.is_being_deleted:
        return Plan(document, events=events)
    wanted = app.children()
    return Plan(document, apply=wanted, delete=_surplus(state, wanted), events=events)


def status_of(state: CollectorState) -> CollectorStatus:
    """Return the status to write."""
    app, course = state.app, course_of(state)
    feeds, spool = told_by(state.replica_reports())
    before = state.before
    if state.reports is None:  # this process has not asked yet
        feeds, spool = before.feeds, before.spool
    found = verdicts(state, course, feeds)
    return CollectorStatus(
        observed_generation=state.generation,
        conditions=conditions(before.conditions, found, state.generation, state.now),
        revision=before.revision if app is None else app.revision,
        replicas=course.replicas,
        feeds=feeds,
        spool=spool,
        summary=_summary(course, spool, found),
    )


def _summary(course: Course, spool: Spool | None, found: Sequence[Verdict]) -> CollectorSummary:
    ready, reconciling = found[0], found[1]
    return CollectorSummary(
        replicas=f"{course.replicas.ready}/{course.replicas.desired}",
        spool=None if spool is None else format_size(spool.bytes),
        state=reconciling.reason if reconciling.holds else ready.reason,
    )


def _surplus(state: CollectorState, wanted: Sequence[Document]) -> list[Child]:
    """Return our children that nothing needs any more; a ConfigMap is needed while a pod reads it."""
    keep = {Reference.of(one) for one in wanted}
    read = {pod.labels.get(REVISION_LABEL) for pod in state.pods}
    return [
        child
        for kind in reversed(CHILDREN)
        if kind not in OF_EXECUTORS
        for child in state.own.of_kind(kind)
        if child.reference not in keep and not (kind is CONFIG_MAP and child.labels.get(REVISION_LABEL) in read)
    ]
