"""Looks after the resources of the kind LogReplay: observes each, decides, and has that done."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.load import parse_as
from logpersister.manifest.log_replay import LogReplay
from logpersister_operator.act.reconciler import Reconciler
from logpersister_operator.cluster.kinds import JOB, LOG_REPLAY, LOGPERSISTER, Document, Reference
from logpersister_operator.commons import Commons
from logpersister_operator.managed_resources import ManagedResources
from logpersister_operator.observe.members import MemberReader
from logpersister_operator.observe.object_events import ObjectEvents
from logpersister_operator.observe.polling_pool import PollingPool
from logpersister_operator.observe.resource import declared, key_of, resource_of
from logpersister_operator.observe.secrets import read_secrets
from logpersister_operator.observed_objects import Child, Job, Pod
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.replays.claims import Claims
from logpersister_operator.replays.jobs import storing_job
from logpersister_operator.replays.observed_replay import ObservedReplay, Wanted
from logpersister_operator.replays.plans import MISSING, Found, ReplayPlan, plan_of
from logpersister_operator.replays.subject import ReplaySubject, status_in

RESYNC_SECONDS: Final = 300.0
"""The longest pause between two reconciliations of a replay, whatever happens."""
WORKING_SECONDS: Final = 15.0
"""The longest one while processes store: the time that is left changes."""
POLLING_THREADS: Final = 4

Reports = Mapping[str, Mapping[str, Any]]
"""What processes say that answer, by the names of their pods."""


@dataclass(slots=True)
class _Managed:
    """What is kept of one replay between two reconciliations."""

    wake: Callable[[], None] | None = None
    events: ObjectEvents = field(default_factory=ObjectEvents)
    status: Document = field(default_factory=dict)


class _NothingToDrain:
    """The end of a replay: the garbage collector takes its Job, whose processes leave the group in order."""

    def step(self) -> bool:
        return True


class Replays:
    """The actor of all replays (`supervision.Actor`, `commons.Companion`)."""

    kind = LOG_REPLAY

    def __init__(self, commons: Commons) -> None:
        self._commons = commons
        self._reconciler = Reconciler(commons.cluster, commons.children, commons.metrics)
        self._claims = Claims()
        self._reader = MemberReader()
        self._reports: PollingPool[ResourceKey, Reports] = PollingPool(
            "replays",
            seconds=commons.settings.report_seconds,
            threads=POLLING_THREADS,
            on_answer=self.wake,
            essence=lambda answer: {name: one.get("replay") for name, one in answer.items()},
        )
        self._managed = ManagedResources(self._reports.remove, _Managed)

    def close(self) -> None:
        """Ask nobody any more, without waiting for answers."""
        self._reports.close()
        self._reader.close()

    def listed(self, namespace: str) -> bool:
        return self._commons.children.listed(namespace)

    def seen(self, body: Mapping[str, Any]) -> None:
        self._claims.seen(body)

    def gone(self, body: Mapping[str, Any]) -> None:
        self._claims.gone(body)

    def register(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        self._managed.register(key, wake)
        self._reports.put(key, lambda: self._ask(key))

    def unregister(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        self._managed.unregister(key, wake)

    def wake(self, key: ResourceKey) -> None:
        self._managed.wake(key)

    def statuses(self) -> Mapping[ResourceKey, Document]:
        return {key: one.status for key, one in self._managed.all().items() if one.status}

    def drain(self, resource: Document) -> _NothingToDrain:  # noqa: ARG002 - other kinds need it
        return _NothingToDrain()

    def forget(self, resource: Document) -> None:
        self._reconciler.forget(resource)

    def reconcile(self, resource: Document) -> float:
        """Reconcile a replay once; raises ClusterError, OutdatedError and NotListedError."""
        began, outcome = time.monotonic(), "failed"
        try:
            done = self._reconciler.reconcile(ReplaySubject(resource, self._observe(resource)))
            outcome = "refused" if self._reconciler.refusals(key_of(resource)) else "done"
        finally:
            self._commons.metrics.reconciled(outcome, time.monotonic() - began)
        self._managed.get(key_of(resource)).status = done.status
        longest = (
            WORKING_SECONDS if done.status.get("phase") in ("Planning", "Running", "Switching") else RESYNC_SECONDS
        )
        return longest if done.again_seconds is None else min(longest, done.again_seconds)

    def report_failure(self, resource: Document, error: Exception, attempts: int) -> None:
        """Show on a replay why it is not reconciled, from the second attempt in a row that failed."""
        self._reconciler.show_failure(resource, error, attempts)

    def _observe(self, resource: Document) -> ObservedReplay:
        settings, key, metadata = self._commons.settings, key_of(resource), resource["metadata"]
        children = self._commons.children.of(key)
        replay, problems = _parsed(resource)
        observed = ObservedReplay(
            now=datetime.now(UTC),
            namespace=key.namespace,
            name=key.name,
            uid=metadata["uid"],
            generation=int(metadata["generation"]),
            replay=replay,
            problems=problems,
            status=status_in(self._reconciler.with_latest_status(resource)["status"]),
            image=settings.image,
            defaults=settings.member_defaults,
            executors=settings.executors,
            children=children,
            refusals=self._reconciler.refusals(key),
            reports=_of_storing(key, children, self._reports.answer(key) or {}),
        )
        if replay is not None and observed.plan is None:
            observed = replace(observed, wanted=self._wanted(key, replay))
        events = self._managed.get(key).events
        return replace(observed, told=events.read(self._commons.cluster, key.namespace, observed.unexplained))

    def _wanted(self, key: ResourceKey, replay: LogReplay) -> Wanted:
        """Return what a replay can be planned with, as it is now: nothing of it is watched."""
        place = replay.spec.source.place
        resource = self._found(key.namespace, replay.spec.resource)
        named = None if place is None else place.resource
        backup = None if named is None else self._found(key.namespace, named)
        plan = plan_of(replay.spec, resource, backup, executors=self._commons.settings.executors)
        names = plan.secrets if isinstance(plan, ReplayPlan) else []
        missing = read_secrets(self._commons.cluster, key.namespace, names).seen.missing
        return Wanted(resource, backup, self._claims.holder(key), missing)

    def _found(self, namespace: str, name: str) -> Found:
        document = self._commons.cluster.get(LOGPERSISTER, namespace, name)
        if document is None:
            return MISSING
        known = resource_of(document)
        manifest: LogPersister | None = known.manifest
        return Found(manifest, "" if manifest is not None else known.problems)

    def _ask(self, key: ResourceKey) -> Reports:
        children = self._commons.children.of(key)
        pods = {one.name: one for one in _pods_of_storing(key, children) if one.address and not one.is_over}
        answers = self._reader.ask(pods)
        return {name: one.document for name, one in answers.items() if one.document is not None}


def _pods_of_storing(key: ResourceKey, children: Mapping[Reference, Child]) -> list[Pod]:
    job = children.get(Reference(JOB.name, storing_job(key.name)))
    if not isinstance(job, Job):
        return []
    return [one for one in children.values() if isinstance(one, Pod) and one.is_owned_by(job.uid)]


def _of_storing(key: ResourceKey, children: Mapping[Reference, Child], reports: Reports) -> Reports:
    """Return the reports of pods that are still there."""
    names = {one.name for one in _pods_of_storing(key, children)}
    return {name: one for name, one in reports.items() if name in names}


def _parsed(resource: Document) -> tuple[LogReplay | None, str]:
    try:
        return parse_as(LogReplay, declared(resource)), ""
    except ManifestError as error:
        return None, str(error)
