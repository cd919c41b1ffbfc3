"""The running operator: what is observed of each resource, and who is woken when it changes."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import structlog
from kubernetes.client import ApiClient

from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister_operator.act.departures import Departures
from logpersister_operator.act.drain import Drain
from logpersister_operator.act.reconciler import Reconciler, Reconciliation
from logpersister_operator.cluster.client import ApiServer, Cluster
from logpersister_operator.cluster.kinds import LOGPERSISTER, Document
from logpersister_operator.decide.conditions import is_settled
from logpersister_operator.decide.health.departed_members import known_names
from logpersister_operator.decide.validity import check
from logpersister_operator.metrics import Metrics
from logpersister_operator.observe.children import Children, Watches
from logpersister_operator.observe.groups import Groups
from logpersister_operator.observe.lag import GroupLag, lag_depends_on
from logpersister_operator.observe.members import MemberReader, UnansweredSince
from logpersister_operator.observe.polling_pool import PollingPool
from logpersister_operator.observe.secrets import SecretsRead, read_secrets
from logpersister_operator.observe.uploads import UploadTally
from logpersister_operator.observed_state import Claim, KnownLag, MemberReport, ObservedState, ResourceKey, UnknownLag
from logpersister_operator.render.application import MEMBER, SHADOW, secret_names
from logpersister_operator.settings import Settings

log = structlog.get_logger(__name__)

RESYNC_SECONDS: Final = 300.0
"""The longest pause between two rounds about a resource, whatever happens or does not."""
UNSETTLED_SECONDS: Final = 15.0
"""The longest one while time alone may change a verdict: a pod that waits for a node, a failure that passes."""
INQUIRY_THREADS: Final = 32
MISSING_SECRET_SECONDS: Final = 5.0
"""How soon a Secret that is missing is looked for again: somebody is about to create it."""


@dataclass(slots=True)
class _Subject:
    """What is kept of a resource between rounds."""

    wake: Callable[[], None] | None = None
    """None while nobody looks after the resource."""
    tally: UploadTally = field(default_factory=UploadTally)
    silences: UnansweredSince = field(default_factory=UnansweredSince)
    names: frozenset[str] = frozenset()
    """Of members that the resource was seen to have."""
    secrets: SecretsRead | None = None
    secrets_of: tuple[str, ...] = ()
    secrets_until: float = 0.0
    group: GroupLag | None = None
    group_of: object = None
    """What the group was made from."""


@dataclass(frozen=True, slots=True)
class _Reports:
    """What members say, by the names of their pods."""

    members: dict[str, MemberReport]
    shadows: dict[str, MemberReport]
    """Of other groups."""


class Operator:
    """Everything but `kopf`."""

    def __init__(self, api: ApiClient, settings: Settings, cluster: Cluster | None = None) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.children = Children(self.wake)
        self.groups = Groups(self.wake)
        self._cluster = cluster or ApiServer(api)
        self._watches = Watches(api, self.children, settings.namespaces)
        self._reconciler = Reconciler(self._cluster, self.children, self.metrics)
        self._reader = MemberReader()
        self._lags: PollingPool[ResourceKey, KnownLag | UnknownLag] = PollingPool(
            "lag",
            seconds=settings.lag_seconds,
            threads=INQUIRY_THREADS,
            on_answer=self.wake,
            is_failure=lambda answer: isinstance(answer, UnknownLag),
            essence=lambda answer: answer.essence if isinstance(answer, KnownLag) else answer,
        )
        self._reports: PollingPool[ResourceKey, _Reports] = PollingPool(
            "reports",
            seconds=settings.report_seconds,
            threads=INQUIRY_THREADS,
            on_answer=self.wake,
            is_failure=lambda _: False,
            essence=lambda answer: {name: one.essence for name, one in (answer.members | answer.shadows).items()},
        )
        self._departures = Departures(INQUIRY_THREADS)
        self._subjects: dict[ResourceKey, _Subject] = {}
        self._rounds: dict[ResourceKey, Reconciliation] = {}
        """The last one about each resource."""
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to watch."""
        self._watches.start()

    def stop(self) -> None:
        self._watches.stop()
        self._lags.close()
        self._reports.close()
        self._reader.close()
        self._departures.close()

    # who is woken

    def register(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        """Call ``wake``, from any thread, whenever something about a resource changes."""
        self._forget(key)
        with self._lock:
            self._subjects[key] = _Subject(wake)
        self._reports.put(key, lambda: self._ask_members(key))

    def unregister(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        """Forget a resource, unless another one of that name is registered by now."""
        with self._lock:
            subject = self._subjects.get(key)
        if subject is not None and subject.wake is wake:
            self._forget(key)
            self._count_resources()

    def _forget(self, key: ResourceKey) -> None:
        self._reports.remove(key)
        self._lags.remove(key)
        self._departures.forget(key)
        with self._lock:
            self._rounds.pop(key, None)
            subject = self._subjects.pop(key, None)
        if subject is not None and subject.group is not None:
            subject.group.close()

    def wake(self, key: ResourceKey) -> None:
        with self._lock:
            subject = self._subjects.get(key)
        if subject is not None and subject.wake is not None:
            subject.wake()

    # rounds

    def reconcile(self, resource: Document) -> float:
        """Do one round about a resource; return in how many seconds the next one must be at the latest.

        Raises ClusterError and OutdatedError: then it should be soon.
        """
        observed = self.observe(resource)
        began = time.monotonic()
        outcome = "failed"
        try:
            done = self._reconciler.reconcile(observed)
            outcome = "refused" if self._reconciler.refusals(observed.key) else "done"
        finally:
            self.metrics.reconciled(outcome, time.monotonic() - began)
        self._let_leave(observed, done.leave)
        with self._lock:
            self._rounds[observed.key] = done
        self._count_resources()
        pauses = [RESYNC_SECONDS if is_settled(done.status) else UNSETTLED_SECONDS, self._until_secrets(observed.key)]
        return min(pauses if done.again_seconds is None else [*pauses, done.again_seconds])

    def observe(self, resource: Document) -> ObservedState:
        """Gather everything that is known of a resource.

        Raises NotListedError before all children are known, ClusterError when its Secrets, or other resources that
        want its group, cannot be read.
        """
        observed = self._with_children(resource)
        key = observed.key
        with self._lock:
            subject = self._subjects.setdefault(key, _Subject())
        answer = self._reports.answer(key)
        reports = None if answer is None else answer.members
        observed = replace(
            observed,
            silent=subject.silences.observe(reports or {}, observed.now),
            lag=self._lags.answer(key),
            reports=reports,
            shadow_reports={} if answer is None else answer.shadows,
            stored=None if reports is None else subject.tally.observe(reports, observed.status, observed.now),
            refusals=self._reconciler.refusals(key),
            rivals=self._rivals(resource),
        )
        subject.names = known_names(subject.names, observed)
        observed = replace(observed, names=subject.names)
        runs = check(observed).runs
        if runs is None:
            return observed
        secrets = self._secrets(subject, key, tuple(secret_names(runs.spec)))
        self._watch_lag(subject, key, runs, secrets)
        return replace(observed, secrets=secrets.seen)

    def drain(self, resource: Document) -> Drain:
        """Return what lets the members of a resource that is being deleted leave."""
        namespace = resource["metadata"]["namespace"]

        def secrets(runs: LogPersister) -> Secrets:
            return read_secrets(self._cluster, namespace, tuple(secret_names(runs.spec))).secrets()

        def observe() -> ObservedState:
            return replace(self._with_children(resource), rivals=self.groups.rivals(resource))

        return Drain(self._cluster, observe, secrets)

    def forget(self, resource: Document) -> None:
        """Forget a resource that is gone."""
        self._reconciler.forget(resource)

    def _let_leave(self, observed: ObservedState, names: Sequence[str]) -> None:
        """Take members out of the group that will not come back."""
        runs = check(observed).runs
        with self._lock:
            subject = self._subjects.get(observed.key)
        if names and runs is not None and subject is not None and subject.secrets is not None:
            self._departures.begin(observed.key, runs, subject.secrets.secrets(), names)

    # questions

    def _with_children(self, resource: Document) -> ObservedState:
        observed = ObservedState(datetime.now(UTC), self._reconciler.with_latest_status(resource), self.settings.image)
        return replace(observed, children=self.children.of(observed.key))

    def _rivals(self, resource: Document) -> tuple[Claim, ...]:
        """Return what other resources want its group, as they are now: a watch may be behind, or miss that one goes."""
        for rival in self.groups.rivals(resource):
            found = self._cluster.get(LOGPERSISTER, rival.key.namespace, rival.key.name)
            if found is None or found["metadata"]["uid"] != rival.uid:
                self.groups.lost(rival.key, rival.uid)
            if found is not None:
                self.groups.seen(found)
        return self.groups.rivals(resource)

    def _secrets(self, subject: _Subject, key: ResourceKey, names: tuple[str, ...]) -> SecretsRead:
        now = time.monotonic()
        if subject.secrets is None or subject.secrets_of != names or now >= subject.secrets_until:
            subject.secrets = read_secrets(self._cluster, key.namespace, names)
            seconds = MISSING_SECRET_SECONDS if subject.secrets.seen.missing else self.settings.secret_seconds
            subject.secrets_of, subject.secrets_until = names, now + seconds
        return subject.secrets

    def _until_secrets(self, key: ResourceKey) -> float:
        """Return in how many seconds the Secrets of a resource must be looked at again."""
        with self._lock:
            subject = self._subjects.get(key)
        if subject is None or not subject.secrets_of:
            return RESYNC_SECONDS
        return max(0.0, subject.secrets_until - time.monotonic())

    def _watch_lag(self, subject: _Subject, key: ResourceKey, resource: LogPersister, secrets: SecretsRead) -> None:
        made_from = lag_depends_on(resource, secrets.seen)
        if subject.group_of == made_from:
            return
        before = subject.group
        known = None if before is None else before.no_progress
        subject.group, subject.group_of = GroupLag(resource, secrets.secrets(), known), made_from
        self._lags.put(key, _asking(subject.group, self.metrics))
        if before is not None:
            before.close()

    def _ask_members(self, key: ResourceKey) -> _Reports:
        observed = ObservedState(datetime.now(UTC), {"metadata": {}}, "", self.children.of(key))
        members, shadows = (
            {str(pod["metadata"]["name"]): pod for pod in observed.pods(one)} for one in (MEMBER, SHADOW)
        )
        reports = self._reader.ask(members | shadows)
        return _Reports({name: reports[name] for name in members}, {name: reports[name] for name in shadows})

    def _count_resources(self) -> None:
        with self._lock:
            rounds = dict(self._rounds)
        self.metrics.resources({key: one.status for key, one in rounds.items()})
        self.metrics.targets({key: one.target_seconds for key, one in rounds.items() if one.target_seconds is not None})
        self.metrics.rollouts({key: one.progress for key, one in rounds.items() if one.progress is not None})


def _asking(group: GroupLag, metrics: Metrics) -> Callable[[], KnownLag | UnknownLag]:
    def ask() -> KnownLag | UnknownLag:
        metrics.lag_asked()
        answer = group.ask()
        if isinstance(answer, UnknownLag):
            metrics.lag_failed()
        return answer

    return ask
