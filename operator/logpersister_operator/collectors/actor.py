"""The actor of FeedCollectors: it observes each, reconciles it, and asks its replicas (`supervision.Actor`)."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from logpersister.manifest import FeedCollector, ManifestError
from logpersister.manifest.load import parse_as
from logpersister_operator.act.reconciler import Reconciler
from logpersister_operator.cluster.kinds import FEED_COLLECTOR, Document, Reference
from logpersister_operator.collectors import decide
from logpersister_operator.collectors.collector_drain import CollectorDrain
from logpersister_operator.collectors.observed import CollectorState, Parsed
from logpersister_operator.collectors.render import COLLECTOR, LARGEST_MANIFEST, manifest_of
from logpersister_operator.commons import Commons
from logpersister_operator.crd.status_collector import CollectorStatus
from logpersister_operator.decide.conditions import is_settled
from logpersister_operator.managed_resources import ManagedResources
from logpersister_operator.observe.children import RefusedError
from logpersister_operator.observe.members import MemberReader
from logpersister_operator.observe.object_events import ObjectEvents
from logpersister_operator.observe.polling_pool import PollingPool
from logpersister_operator.observe.resource import declared, key_of
from logpersister_operator.observe.secrets import SecretCache
from logpersister_operator.observed_objects import Child
from logpersister_operator.observed_state import MemberReport, Refusal, ResourceKey, pods_of
from logpersister_operator.plan import Plan
from logpersister_operator.render.pod_frame import STOP_MARGIN_SECONDS

RESYNC_SECONDS: Final = 300.0
"""The longest pause between two reconciliations of a resource, whatever happens."""
UNSETTLED_SECONDS: Final = 15.0
"""The longest one while time alone may change a verdict."""
POLLING_THREADS: Final = 16


@dataclass(slots=True)
class _Kept:
    """What is kept of one resource. Only the thread that reconciles the resource changes it."""

    wake: Callable[[], None] | None = None
    secrets: SecretCache = field(default_factory=SecretCache)
    events: ObjectEvents = field(default_factory=ObjectEvents)
    parsed: tuple[tuple[str, int], Parsed] | None = None
    """The spec of a version of the resource: thousands of feeds take a while."""
    last: Document | None = None
    """The last status."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """A FeedCollector as the reconciler sees it."""

    state: CollectorState

    @property
    def document(self) -> Document:
        return self.state.document

    def decide(self) -> Plan:
        return decide.decide(self.state)

    def after(self, status: Document, refusals: Mapping[Reference, Refusal]) -> "_Subject":
        return _Subject(self.state.with_status(status, refusals))


class Collectors:
    """Looks after all FeedCollectors."""

    kind: Final = FEED_COLLECTOR

    def __init__(self, commons: Commons) -> None:
        self._commons = commons
        self._reconciler = Reconciler(commons.cluster, commons.children, commons.metrics)
        self._reader = MemberReader()
        self._reports: PollingPool[ResourceKey, dict[str, MemberReport]] = PollingPool(
            "feed-reports",
            seconds=commons.settings.report_seconds,
            threads=POLLING_THREADS,
            on_answer=self.wake,
            essence=lambda answer: {name: _essence(one) for name, one in answer.items()},
        )
        self._managed = ManagedResources(self._reports.remove, _Kept)

    def close(self) -> None:
        """Ask nobody any more, without waiting for answers."""
        self._reports.close()
        self._reader.close()

    def listed(self, namespace: str) -> bool:
        return self._commons.children.listed(namespace)

    def seen(self, body: Mapping[str, Any]) -> None:
        """Nothing is done for one resource that depends on another."""

    def gone(self, body: Mapping[str, Any]) -> None:
        """Nothing is kept of a resource beside what `forget` forgets."""

    def register(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        self._managed.register(key, wake)
        self._reports.put(key, lambda: self._ask(key))

    def unregister(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        self._managed.unregister(key, wake)

    def wake(self, key: ResourceKey) -> None:
        self._managed.wake(key)

    def statuses(self) -> Mapping[ResourceKey, Document]:
        """Return the conditions of each resource, for metrics."""
        return {
            key: {"conditions": kept.last.get("conditions", [])}
            for key, kept in self._managed.all().items()
            if kept.last is not None
        }

    def shown(self) -> Mapping[ResourceKey, CollectorStatus]:
        """Return the last status of each resource, for pages."""
        return {
            key: CollectorStatus.model_validate(kept.last, extra="ignore")
            for key, kept in self._managed.all().items()
            if kept.last is not None
        }

    def reconcile(self, resource: Document) -> float:
        """Reconcile a resource once; return in how many seconds the next reconciliation must begin at the latest."""
        key, began, outcome = key_of(resource), time.monotonic(), "failed"
        kept = self._managed.get(key)
        state = self._observe(resource, kept)
        try:
            done = self._reconciler.reconcile(_Subject(state))
            outcome = "refused" if self._reconciler.refusals(key) else "done"
        finally:
            self._commons.metrics.reconciled(outcome, time.monotonic() - began)
        kept.last = done.status
        pauses = [RESYNC_SECONDS if is_settled(done.status) else UNSETTLED_SECONDS, kept.secrets.seconds_left]
        return min(pauses if done.again_seconds is None else [*pauses, done.again_seconds])

    def report_failure(self, resource: Document, error: Exception, attempts: int) -> None:
        """Show on a resource why it is not reconciled."""
        shown = self._reconciler.show_failure(resource, error, attempts)
        if shown is not None:
            self._managed.get(key_of(resource)).last = shown

    def drain(self, resource: Document) -> CollectorDrain:
        """Return what lets the replicas of a resource that is being deleted send what they have."""
        key = key_of(resource)
        manifest = self._parsed(resource, self._managed.get(key)).manifest
        grace = 0.0 if manifest is None else manifest.spec.shutdown_grace.total_seconds()

        def children() -> Mapping[Reference, Child]:
            if refusal := self._commons.refusal(key.namespace):
                raise RefusedError(refusal)
            return self._commons.children.of(key)

        uid = resource["metadata"]["uid"]
        return CollectorDrain(self._commons.cluster, children, uid, grace + STOP_MARGIN_SECONDS)

    def forget(self, resource: Document) -> None:
        self._reconciler.forget(resource)

    def _observe(self, resource: Document, kept: _Kept) -> CollectorState:
        """Gather everything that is known; raises NotListedError and ClusterError."""
        key, commons = key_of(resource), self._commons
        parsed, children = self._parsed(resource, kept), commons.children.of(key)
        names = [] if parsed.manifest is None else parsed.manifest.spec.secret_names()
        secrets = kept.secrets.read(commons.cluster, key.namespace, names, commons.settings.secret_seconds)
        state = CollectorState(
            datetime.now(UTC),
            self._reconciler.with_latest_status(resource),
            parsed,
            commons.settings.image,
            defaults=commons.settings.member_defaults,
            children=children,
            missing=secrets.seen.missing,
            reports=self._reports.answer(key),
            refusals=self._reconciler.refusals(key),
        )
        return replace(state, told=kept.events.read(commons.cluster, key.namespace, state.unexplained))

    def _parsed(self, resource: Document, kept: _Kept) -> Parsed:
        metadata = resource["metadata"]
        version = (metadata["uid"], metadata["generation"])
        if kept.parsed is None or kept.parsed[0] != version:
            kept.parsed = version, _parse(resource)
        return kept.parsed[1]

    def _ask(self, key: ResourceKey) -> dict[str, MemberReport]:
        pods = pods_of(self._commons.children.of(key).values(), COLLECTOR)
        return self._reader.ask({pod.name: pod for pod in pods})


def _parse(resource: Document) -> Parsed:
    """Return the spec as a manifest: it is checked as the CRD does, and for more."""
    try:
        manifest = parse_as(FeedCollector, declared(resource))
    except ManifestError as error:
        return Parsed(None, "; ".join(str(problem) for problem in error.problems))
    size = len(manifest_of(manifest).encode())
    if size <= LARGEST_MANIFEST:
        return Parsed(manifest)
    told = f"{len(manifest.spec.feeds)} feeds take {size:,} bytes, and a ConfigMap holds {LARGEST_MANIFEST:,}"
    return Parsed(None, f"spec.feeds: {told}; make two resources of them")


def _essence(report: MemberReport) -> object:
    """Return what somebody may act on: verdicts, not counts that go on."""
    if report.document is None:
        return report.error
    feeds, kafka = report.document.get("feeds"), report.document.get("kafka")
    counts = [feeds.get(name) for name in ("total", "silent", "failing")] if isinstance(feeds, dict) else None
    return counts, kafka
