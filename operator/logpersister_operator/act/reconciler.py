"""One reconciliation of one resource: decide, write the status, then act. It may end between any two writes."""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Generic, Protocol, TypeVar

import structlog

from logpersister.report.human import instant, plural
from logpersister_operator.act.apply_cache import ApplyCache
from logpersister_operator.act.status_writer import StatusOutdatedError, StatusRefusedError, StatusWriter
from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import (
    EVENT,
    POD,
    POD_DISRUPTION_BUDGET,
    STATEFUL_SET,
    Document,
    Reference,
    kind_of,
)
from logpersister_operator.decide.conditions import Aspect, conditions, no
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.status.transition_events import transitions
from logpersister_operator.metrics import Metrics
from logpersister_operator.observe.children import Children
from logpersister_operator.observe.resource import conditions_of, key_of
from logpersister_operator.observed_objects import Child, Pod, view
from logpersister_operator.observed_state import Refusal, ResourceKey
from logpersister_operator.plan import Plan, Scale
from logpersister_operator.render.workload import RESTART_ANNOTATION
from logpersister_operator.rollout.rollout_events import Event

log = structlog.get_logger(__name__)

REPORTER: Final = "logpersister-operator"
LONGEST_MESSAGE: Final = 1024
"""The API server's limit for the message of an Event."""
STATUS_REFUSED: Final = "StatusRefused"
"""Reason of an Event, and of no condition: there is no place for one."""
_OTHERS: Final = "the other conditions are as the last complete reconciliation found them; it is tried again"
_CONFLICT: Final = 409
_NOT_NOW: Final = frozenset({0, 401, 408, 409, 429})
"""Answers to a write that say nothing about the object: it is tried again."""


class OutdatedError(Exception):
    """The resource has changed since it was observed: decide anew."""


class NameTakenError(Exception):
    """There is an object of the name of a child, and it is not ours."""


class State(Protocol):
    """What is observed of one resource, of which the reconciler itself reads this."""

    @property
    def now(self) -> datetime: ...

    @property
    def children(self) -> Mapping[Reference, Child]: ...

    @property
    def refusals(self) -> Mapping[Reference, Refusal]: ...


AnyState = TypeVar("AnyState", bound=State)


@dataclass(frozen=True, slots=True)
class Subject(Generic[AnyState]):
    """What is observed of one resource of some kind, and how that is decided about."""

    document: Document
    """The resource as the API server has it."""
    state: AnyState
    decide: Callable[[AnyState], Plan]
    after: Callable[[AnyState, Document, Mapping[Reference, Refusal]], AnyState]
    """Returns the state with the status that is written by now, and with what was refused meanwhile."""


class Reconciler:
    """Brings the cluster to what is decided. Keeps only what saves requests; everything else is observed anew."""

    def __init__(
        self,
        cluster: Cluster,
        children: Children,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._children = children
        self._metrics = metrics
        self._applied = ApplyCache()
        self._writer = StatusWriter(cluster, metrics, clock)
        self._refusals: dict[ResourceKey, dict[Reference, Refusal]] = {}
        self._restarted: dict[ResourceKey, set[tuple[str, bool]]] = {}
        """Pods, by uid, that were deleted, and whether at once: a watch may not have reported it yet."""
        self._without_status: set[str] = set()
        """Resources, by uid, whose status was refused, and that have an Event about it."""

    def with_latest_status(self, resource: Document) -> Document:
        """Return the resource with the status that was written last: a watch may not have reported it yet."""
        return {**resource, "status": self._writer.latest(resource)}

    def refusals(self, key: ResourceKey) -> dict[Reference, Refusal]:
        """Return what could not be made or changed in the last reconciliation."""
        return self._refusals.get(key, {})

    def reconcile(self, subject: Subject[AnyState]) -> Plan:
        """Reconcile a resource once; return what is left of the plan.

        Raises ClusterError when the API server does not answer, OutdatedError when it is too late.

        What the API server refuses becomes part of the status: the decision is made once more with the refusal.
        """
        key, began, outcome = key_of(subject.document), time.monotonic(), "failed"
        try:
            plan = self._carry_out(subject)
            outcome = "refused" if self.refusals(key) else "done"
        finally:
            self._metrics.reconciled(outcome, time.monotonic() - began)
        return plan

    def _carry_out(self, subject: Subject[AnyState]) -> Plan:
        plan, again = self._decide(subject)
        refusals = self._refusals[key_of(subject.document)] = self._act(subject, plan)
        if refusals != subject.state.refusals:
            plan, again = self._decide(replace(subject, state=subject.after(subject.state, plan.status, refusals)))
        soonest = min((one for one in (again, plan.again_seconds) if one is not None), default=None)
        return replace(
            plan, again_seconds=soonest, apply=(), delete=(), events=(), scale=(), tune=(), restart=(), ended=()
        )

    def _decide(self, subject: Subject[AnyState]) -> tuple[Plan, float | None]:
        """Write and tell what is decided; return it, and in how many seconds the rest of the status is due."""
        plan = subject.decide(subject.state)
        again = self._write(subject, plan)
        self._metrics.rollouts_ended(plan.ended)
        self._post_events(subject.document, plan.events, subject.state.now)
        return plan, again

    def show_failure(self, document: Document, error: Exception, attempts: int) -> Document | None:
        """Show on a resource why it is not reconciled, from the second attempt in a row that failed; return its status.

        Nothing is written while the API server cannot be asked, nor when it refuses statuses.
        """
        is_away = isinstance(error, ClusterError) and not error.status
        if attempts == 1 or is_away or isinstance(error, StatusRefusedError):
            return None
        text = str(error) if isinstance(error, ClusterError) else repr(error)
        try:
            return self.report_failure(document, text, attempts, datetime.now(UTC))
        except ClusterError as refused:
            log.warning("failure.not_shown", resource=str(key_of(document)), error=str(refused))
        except Exception:  # the next attempt is more important than what is shown of this one
            log.exception("failure.not_shown", resource=str(key_of(document)))
        return None

    def report_failure(self, document: Document, error: str, attempts: int, now: datetime) -> Document:
        """Write onto a resource that it was not reconciled, and why; return its status. Raises ClusterError.

        Otherwise its status would stand still without a reason.
        """
        latest = self.with_latest_status(document)
        known = conditions_of(latest["status"])
        message = f"{error} ({plural(attempts, 'attempt')} in a row); {_OTHERS}"
        verdict = no(Aspect.RECONCILED, Reason.RECONCILIATION_FAILED, message)
        (failed,) = conditions(known, [verdict], int(document["metadata"]["generation"]), now)
        others = [one for one in latest["status"].get("conditions") or [] if one["type"] != failed.type]
        told = failed.model_dump(mode="json", by_alias=True, exclude_none=True)
        summary = {**(latest["status"].get("summary") or {}), "state": failed.reason}
        status = {**latest["status"], "conditions": [*others, told], "summary": summary}
        try:
            self._writer.write(document, status)
        except StatusOutdatedError:
            self._writer.forget(document["metadata"]["uid"])
            raise
        self._post_events(document, transitions(known, [failed]), now)
        return status

    def forget(self, resource: Document) -> None:
        """Forget a resource that is gone."""
        uid = resource["metadata"]["uid"]
        self._writer.forget(uid)
        self._applied.forget_all_of(uid)
        self._without_status.discard(uid)
        key = key_of(resource)
        self._refusals.pop(key, None)
        self._restarted.pop(key, None)

    def _write(self, subject: Subject[AnyState], plan: Plan) -> float | None:
        """Write the status; a refused status cannot report that itself, so an Event does, once."""
        document = subject.document
        uid = document["metadata"]["uid"]
        try:
            again = self._writer.write(document, plan.status)
        except StatusOutdatedError as error:
            self._writer.forget(uid)
            raise OutdatedError(f"{key_of(document)} has changed since its status was decided") from error
        except StatusRefusedError as error:
            if uid not in self._without_status:
                self._without_status.add(uid)
                self._post_events(document, [Event(STATUS_REFUSED, str(error), warning=True)], subject.state.now)
            raise
        self._without_status.discard(uid)
        return again

    def _act(self, subject: Subject[AnyState], plan: Plan) -> dict[Reference, Refusal]:
        """Apply and delete; return what was refused.

        One child that is refused keeps only what needs it from being made: members that run are scaled, and what
        nothing needs any more goes.
        """
        refusals: dict[Reference, Refusal] = {}
        document, there = subject.document, subject.state.children
        key = key_of(document)
        changed = [one for one in plan.apply if not self._applied.is_current(one, there.get(Reference.of(one)))]
        done = self._restarted.get(key, ())
        restart = [pod for pod in plan.restart if (pod.uid, pod.is_leaving) not in done]
        if changed or plan.delete or plan.scale or plan.tune or restart:
            self._look_again(document, plan)
        for pod in restart:
            self._restart(key, pod)
        for child in changed:
            reference = Reference.of(child)
            lacking = any(one.kind != POD_DISRUPTION_BUDGET.name for one in refusals)
            if reference.kind == STATEFUL_SET.name and reference not in there and lacking:
                continue
            try:
                made = self._apply(document, child, there.get(reference))
            except (ClusterError, NameTakenError) as error:
                if isinstance(error, ClusterError) and (error.status in _NOT_NOW or error.status >= 500):
                    raise
                refusals[reference] = Refusal(str(error), taken=isinstance(error, NameTakenError))
                log.warning("child.refused", resource=str(key), child=str(reference), error=str(error))
                continue
            self._applied.remember(child, self._children.seen(made))
            self._metrics.applies.labels(child["kind"]).inc()
            log.info("child.applied", resource=str(key), child=str(reference))
        for scale in plan.scale:
            self._scale(key, scale)
        for tuning in plan.tune:
            self._merge(tuning.job, tuning.spec)
            log.info("child.tuned", resource=str(key), child=str(tuning.job.reference), **tuning.spec)
        for gone in plan.delete:
            self._cluster.delete(kind_of(gone.kind), gone.namespace, gone.name, uid=gone.uid)
            self._applied.forget(gone)
            self._children.lost(gone)  # the watch will say so, too, unless it misses it
            self._metrics.deletes.labels(gone.kind).inc()
            log.info("child.deleted", resource=str(key), child=str(gone.reference))
        return refusals

    def _scale(self, key: ResourceKey, scale: Scale) -> None:
        one = scale.stateful_set
        spec: Document = {"replicas": scale.members}
        if scale.restart:
            spec["template"] = {"metadata": {"annotations": {RESTART_ANNOTATION: scale.restart}}}
        self._merge(one, spec)
        log.info("child.scaled", resource=str(key), child=str(one.reference), members=scale.members)

    def _merge(self, child: Child, spec: Document) -> None:
        """Change these fields of the spec of a child, and no others."""
        same = {"namespace": child.namespace, "name": child.name, "uid": child.uid}
        self._children.seen(self._cluster.scale({"kind": child.kind, "metadata": same, "spec": spec}))

    def _apply(self, owner: Document, child: Document, live: Child | None) -> Document:
        """Make a child, or change the one that is ours; raises NameTakenError and ClusterError."""
        if live is None:
            try:
                return self._cluster.apply(child)
            except ClusterError as error:
                if error.status != _CONFLICT:
                    raise
                metadata = child["metadata"]
                found = self._cluster.find(kind_of(child["kind"]), metadata["namespace"], metadata["name"])
                if found is None:
                    raise
                live = view(found)
        if live.is_owned_by(owner["metadata"]["uid"]):
            return self._cluster.apply(child, live.uid)
        reference = Reference.of(child)
        named = (owner["kind"], owner["metadata"]["name"])
        if live.is_leaving or named in [(one.kind, one.name) for one in live.owners]:
            raise ClusterError(f"{reference} of an earlier resource of this name is about to go", _CONFLICT)
        raise NameTakenError(
            f"{reference} exists and is not owned by this resource, so it is left as it is; "
            "give the resource another name, or delete that object if nobody needs it"
        )

    def _restart(self, key: ResourceKey, pod: Pod) -> None:
        """Delete the pod of a member, that very one; what goes wrong is tried again, and keeps nothing else from it.

        One that is on its way out has a node that is lost: it goes at once.
        """
        name, uid = pod.name, pod.uid
        try:
            self._cluster.delete(POD, key.namespace, name, uid=uid, at_once=pod.is_leaving)
        except ClusterError as error:
            log.warning("member.not_restarted", resource=str(key), member=name, error=str(error))
            return
        self._restarted.setdefault(key, set()).add((uid, pod.is_leaving))
        self._metrics.member_restarts.inc()
        log.warning("member.restarted", resource=str(key), member=name)

    def _look_again(self, document: Document, plan: Plan) -> None:
        """Make sure, before the first write, that this is still about the resource as it is now.

        A watch may be behind: nothing is made for a resource that is being deleted, or for an older spec, nor by a
        record of its rollout that somebody else has taken further.
        """
        key, metadata = key_of(document), document["metadata"]
        now = self._cluster.get(kind_of(key.kind), key.namespace, key.name)
        if now is None or now["metadata"]["uid"] != metadata["uid"] or "deletionTimestamp" in now["metadata"]:
            raise OutdatedError(f"{key} is gone or about to go")
        if now["metadata"]["generation"] != metadata["generation"]:
            raise OutdatedError(f"{key} has changed meanwhile")
        status = now.get("status") or {}
        if any(status.get(name) != plan.status.get(name) for name in ("rollout", "restarts")):
            self._writer.forget(metadata["uid"])
            raise OutdatedError(f"the rollout of {key} has gone on meanwhile, or another member was restarted")

    def _post_events(self, document: Document, events: Iterable[Event], now: datetime) -> None:
        for event in events:
            try:
                self._cluster.post_event(event_document(document, event, now))
            except ClusterError as error:  # events are a courtesy: the status says the same
                log.warning("event.not_posted", resource=str(key_of(document)), reason=event.reason, error=str(error))


def event_document(resource: Document, event: Event, now: datetime) -> Document:
    """Return the Event to create; its name is made of its content, so that no Event is written twice."""
    at, metadata = instant(now), resource["metadata"]
    identity = f"{metadata['uid']} {event.reason} {event.message} {at}"
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {
            "name": f"{metadata['name']}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}",
            "namespace": metadata["namespace"],
        },
        "involvedObject": {
            "apiVersion": resource["apiVersion"],
            "kind": resource["kind"],
            **{name: metadata[name] for name in ("name", "namespace", "uid")},
        },
        "reason": event.reason,
        "message": event.message[:LONGEST_MESSAGE],
        "type": "Warning" if event.warning else "Normal",
        "source": {"component": REPORTER},
        "reportingComponent": REPORTER,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
