"""The running operator: it observes each resource, reconciles it, and wakes its actor when something changes."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import structlog

from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister_operator.act.departures import Departures
from logpersister_operator.act.drain import Drain, LeavingMembers
from logpersister_operator.act.reconciler import Reconciler, Subject
from logpersister_operator.cluster.access import Access
from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import (
    CHILDREN,
    JOB,
    LOG_REPLAY,
    LOGPERSISTER,
    OF_EXECUTORS,
    POD,
    RESOURCES,
    Document,
    Kind,
    Reference,
)
from logpersister_operator.commons import Commons
from logpersister_operator.companion import Companion
from logpersister_operator.crd.status import Status
from logpersister_operator.decide.conditions import is_settled
from logpersister_operator.decide.decision import application_of, decide, is_paused
from logpersister_operator.decide.health.departed_members import known_names
from logpersister_operator.decide.health.observed_fleets import unexplained
from logpersister_operator.decide.revisions.rollout_turns import RolloutLimits
from logpersister_operator.decide.validity import Validity, check
from logpersister_operator.managed_resources import ManagedResource, ManagedResources
from logpersister_operator.metrics import Metrics, WatchAge
from logpersister_operator.observe.children import Children, RefusedError
from logpersister_operator.observe.groups import Groups
from logpersister_operator.observe.lag_connection import connection_key
from logpersister_operator.observe.lag_pool import LagPool
from logpersister_operator.observe.members import MemberReader
from logpersister_operator.observe.polling_pool import PollingPool
from logpersister_operator.observe.resource import key_of, resource_of, understood
from logpersister_operator.observe.rollout_places import RolloutPlaces
from logpersister_operator.observe.secrets import SecretsRead, read_secrets
from logpersister_operator.observe.streams import Streams
from logpersister_operator.observe.watches import Watches
from logpersister_operator.observed_state import Claim, MemberReport, ObservedState, Refusal, ResourceKey, pods_of
from logpersister_operator.pages.glance import Glance
from logpersister_operator.plan import Plan
from logpersister_operator.render.application import MEMBER, SHADOW, secret_names
from logpersister_operator.settings import Settings

log = structlog.get_logger(__name__)

RESYNC_SECONDS: Final = 300.0
"""The longest pause between two reconciliations of a resource, whatever happens."""
UNSETTLED_SECONDS: Final = 15.0
"""The longest one while time alone may change a verdict: a pod that waits for a node, a failure that passes."""
POLLING_THREADS: Final = 32


class _Reports(NamedTuple):
    """What members say, by the names of their pods."""

    members: dict[str, MemberReport]
    shadows: dict[str, MemberReport]
    """Reports of members of other groups."""


class Operator:
    """Everything but `kopf`; looks after the resources of the kind LogPersister (`supervision.Actor`)."""

    kind: Final = LOGPERSISTER

    def __init__(
        self,
        access: Access,
        settings: Settings,
        cluster: Cluster,
        resources: Callable[[], Iterable[WatchAge]] = lambda: (),
        served: Collection[Kind] = RESOURCES,
    ) -> None:
        """Prepare; ``resources`` returns how well resources themselves are known, ``served`` are kinds of them."""
        self.settings = settings
        self.metrics = Metrics()
        self.children = Children(self.wake)
        self.groups = Groups(self.wake)
        self._cluster = cluster
        needless = (*(() if settings.executors else OF_EXECUTORS), *(() if LOG_REPLAY in served else (JOB,)))
        kinds = [one for one in (*CHILDREN, POD) if one not in needless]
        self._watches = Watches(Streams(access), self.children, settings.namespaces, kinds)
        self.commons = Commons(settings, cluster, self.children, self.metrics, self._watches.refusal)
        self._companions: dict[str, Companion[Any]] = {}
        self._resources = resources
        self._reconciler = Reconciler(self._cluster, self.children, self.metrics)
        self._reader = MemberReader()
        self._lags = LagPool(seconds=settings.lag_seconds, on_answer=self.wake, on_asked=self.metrics.lags_asked)
        self._reports: PollingPool[ResourceKey, _Reports] = PollingPool(
            "reports",
            seconds=settings.report_seconds,
            threads=POLLING_THREADS,
            on_answer=self.wake,
            essence=lambda answer: {name: one.essence for name, one in (answer.members | answer.shadows).items()},
        )
        selected = None if settings.canary_namespace_selector else ()
        limits = RolloutLimits(settings.max_concurrent_rollouts, settings.canary_namespaces, selected)
        self.rollout_places = RolloutPlaces(limits, self.wake)
        self._departures = Departures(POLLING_THREADS)
        self._managed = ManagedResources(self._stop_polling, ManagedResource)
        self.metrics.before_each_scrape(self._count_resources)

    def start(self) -> None:
        """Begin to watch."""
        self._watches.start()

    def unready(self, namespaces: Collection[str | None]) -> str | None:
        """Return why not everything of these namespaces is known yet, None for all of them; None when it is.

        One that is refused does not keep the operator from the others.
        """
        refusals = {one.namespace: one.refusal for one in self._watches.ages() if one.refusal}
        missing = [one for one in namespaces if not self.children.listed(one)]
        if all(one in refusals for one in missing) and len(missing) < len(namespaces):
            return None
        reasons = [f"{one or 'all'}: {refusals.get(one, 'lists are not complete yet')}" for one in missing]
        return f"namespaces are not known: {'; '.join(reasons)}"

    @property
    def outdated(self) -> bool:
        """Whether another operator must begin, because etcd was restored: its versions and statuses are of the past."""
        return bool(self._watches.restored)

    def stop(self) -> None:
        self._watches.stop()
        self._lags.close()
        self._reports.close()
        self._reader.close()
        self._departures.close()
        for companion in self._companions.values():
            companion.close()

    # the actors of resources

    def register(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        self._managed.register(key, wake)
        self._reports.put(key, lambda: self._ask_members(key))

    def listed(self, namespace: str) -> bool:
        return self.children.listed(namespace)

    def seen(self, body: Mapping[str, Any]) -> None:
        self.groups.seen(body)
        self.rollout_places.seen(body)

    def gone(self, body: Mapping[str, Any]) -> None:
        self.groups.gone(body)

    def unregister(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        self._managed.unregister(key, wake)

    def join(self, companion: Companion[Any]) -> None:
        """Wake the actor of another kind as well, and tell of its resources."""
        self._companions[companion.kind.name] = companion

    def wake(self, key: ResourceKey) -> None:
        """Reconcile a resource of whatever kind soon; one of a kind that nobody looks after is left alone."""
        if key.kind == self.kind.name:
            self._managed.wake(key)
        elif key.kind in self._companions:
            self._companions[key.kind].wake(key)

    def _stop_polling(self, key: ResourceKey) -> None:
        self._reports.remove(key)
        self._lags.remove(key)
        self._departures.forget(key)

    # reconciliations

    def reconcile(self, resource: Document) -> float:
        """Reconcile a resource once; return in how many seconds the next reconciliation must begin at the latest.

        Raises ClusterError and OutdatedError: then it should be soon.
        """
        observed, validity = self.observe(resource)
        managed = self._managed.get(observed.key)
        done = self._reconciler.reconcile(subject_of(resource, observed, validity))
        if done.leave and validity.runs is not None and managed.secrets.latest is not None:
            self._departures.begin(observed.key, validity.runs, managed.secrets.latest.secrets(), done.leave)
        managed.last = replace(done, status=_counted(done.status))
        managed.status = self._reconciler.with_latest_status(resource)["status"]
        pauses = [RESYNC_SECONDS if is_settled(done.status) else UNSETTLED_SECONDS]
        if validity.runs is not None:  # otherwise no Secrets are read, and old ones only become older
            pauses.append(managed.secrets.seconds_left)
        return min(pauses if done.again_seconds is None else [*pauses, done.again_seconds])

    def report_failure(self, resource: Document, error: Exception, attempts: int) -> None:
        key = key_of(resource)
        self.rollout_places.unable(key)
        status = self._reconciler.show_failure(resource, error, attempts)
        if status is not None:
            managed = self._managed.get(key)
            managed.last = replace(managed.last or Plan(status), status=_counted(status))
            managed.status = status

    def observe(self, resource: Document) -> tuple[ObservedState, Validity]:
        """Gather everything that is known of a resource; return it with the spec that is to run.

        Raises NotListedError before all children are known, ClusterError when its Secrets, or other resources that
        want its group, cannot be read.
        """
        latest = self._reconciler.with_latest_status(resource)
        observed = self._with_children(latest)
        key = observed.key
        managed = self._managed.get(key)
        answer = self._reports.answer(key)
        reports = None if answer is None else answer.members
        observed = replace(
            observed,
            silent=managed.unanswered.observe(reports or {}, observed.now),
            lag=self._lags.answer(key),
            reports=reports,
            shadow_reports={} if answer is None else answer.shadows,
            stored=None if reports is None else managed.uploads.observe(reports, latest["status"], observed.now),
            refusals=self._reconciler.refusals(key),
            rivals=self._rivals(resource),
            told=managed.events.read(self._cluster, key.namespace, unexplained(observed.own)),
        )
        managed.member_names = known_names(managed.member_names, observed.own, observed.status, observed.group)
        observed = replace(observed, names=managed.member_names)
        validity = check(observed)
        if validity.runs is None:
            self.rollout_places.unable(key)
            return observed, validity
        names = secret_names(validity.runs.spec)
        secrets = managed.secrets.read(self._cluster, key.namespace, names, self.settings.secret_seconds)
        self._poll_lag(managed, key, validity.runs, secrets)
        observed = replace(observed, secrets=secrets.seen)
        app = application_of(observed, validity.runs)
        paused = observed.is_unattended or is_paused(observed)
        return replace(observed, turn=self.rollout_places.ask(observed, app, paused=paused)), validity

    def drain(self, resource: Document) -> Drain:
        """Return what lets the members of a resource that is being deleted leave."""
        namespace = resource["metadata"]["namespace"]

        def secrets(runs: LogPersister) -> Secrets:
            return read_secrets(self._cluster, namespace, tuple(secret_names(runs.spec))).secrets()

        def observe() -> ObservedState:
            if refusal := self._watches.refusal(namespace):
                raise RefusedError(refusal)
            latest = self._reconciler.with_latest_status(resource)
            return replace(self._with_children(latest), rivals=self.groups.rivals(resource))

        return Drain(self._cluster, LeavingMembers(observe, secrets).look)

    def forget(self, resource: Document) -> None:
        """Forget a resource that is gone."""
        self._reconciler.forget(resource)
        self.rollout_places.gone(resource)

    def glances(self) -> dict[ResourceKey, Glance]:
        """Return what is known of all resources that were reconciled, for pages."""
        return {key: self._glance(key, one) for key, one in self._managed.all().items() if one.status}

    def _glance(self, key: ResourceKey, managed: ManagedResource) -> Glance:
        reports, last = self._reports.answer(key), managed.last
        return Glance(
            key,
            understood(Status, managed.status),
            self._lags.answer(key),
            {} if reports is None else reports.members,
            None if last is None else last.target_seconds,
        )

    # questions

    def _with_children(self, resource: Document) -> ObservedState:
        settings, found = self.settings, resource_of(resource)
        return ObservedState(
            datetime.now(UTC),
            found,
            settings.image,
            children=self.children.of(found.key),
            defaults=settings.member_defaults,
            executors=settings.executors,
        )

    def _rivals(self, resource: Document) -> tuple[Claim, ...]:
        """Return what other resources want its group, as they are now: a watch may be behind, or miss that one goes."""
        for rival in self.groups.rivals(resource):
            try:
                found = self._cluster.get(LOGPERSISTER, rival.key.namespace, rival.key.name)
            except ClusterError as error:
                if error.status != HTTPStatus.FORBIDDEN:
                    raise
                continue  # the rights in its namespace are gone; what was seen last counts, until it is seen to be gone
            if found is None or found["metadata"]["uid"] != rival.uid:
                self.groups.lost(rival.key, rival.uid)
            if found is not None:
                self.groups.seen(found)
        return self.groups.rivals(resource)

    def _poll_lag(
        self, managed: ManagedResource, key: ResourceKey, resource: LogPersister, secrets: SecretsRead
    ) -> None:
        replaced = managed.group
        group = managed.group_of(resource, secrets)
        if group is replaced:
            return
        self._lags.put(key, group, connection_key(resource.spec.kafka, secrets.values))

    def _ask_members(self, key: ResourceKey) -> _Reports:
        children = self.children.of(key).values()
        members, shadows = ({pod.name: pod for pod in pods_of(children, one)} for one in (MEMBER, SHADOW))
        reports = self._reader.ask(members | shadows)
        return _Reports({name: reports[name] for name in members}, {name: reports[name] for name in shadows})

    def _count_resources(self) -> None:
        self.metrics.watches([*self._watches.ages(), *self._resources()])
        last = {key: one.last for key, one in self._managed.all().items() if one.last is not None}
        statuses = {key: one.status for key, one in last.items()}
        for companion in self._companions.values():
            statuses |= companion.statuses()
        self.metrics.resources(statuses)
        self.metrics.targets({key: one.target_seconds for key, one in last.items() if one.target_seconds is not None})
        self.metrics.rollouts({key: one.progress for key, one in last.items() if one.progress is not None})


def subject_of(document: Document, observed: ObservedState, validity: Validity) -> Subject[ObservedState]:
    """Return a LogPersister, observed, as the reconciler takes it; ``validity`` has the spec that is to run."""

    def after(state: ObservedState, status: Document, refusals: Mapping[Reference, Refusal]) -> ObservedState:
        return replace(state, resource=resource_of({**document, "status": status}), refusals=refusals)

    return Subject(document, observed, lambda state: decide(state, validity), after)


def _counted(status: Document) -> Document:
    """Return what metrics tell of a status: a tenth of it is kept."""
    conditions = [{name: one[name] for name in ("type", "status")} for one in status.get("conditions", [])]
    members = {name: found for name, found in status.get("members", {}).items() if name != "list"}
    return {"conditions": conditions} | ({"members": members} if members else {})
