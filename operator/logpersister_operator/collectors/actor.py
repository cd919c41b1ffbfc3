"""The actor of FeedCollectors: it observes each, reconciles it, and asks its replicas."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from logpersister.manifest import FeedCollector
from logpersister_operator.act.drain import Drain, Remains
from logpersister_operator.act.reconciler import Subject
from logpersister_operator.cluster.kinds import FEED_COLLECTOR, Document
from logpersister_operator.collectors.decide import decide
from logpersister_operator.collectors.observed import CollectorState, Parsed
from logpersister_operator.collectors.render import COLLECTOR, LARGEST_MANIFEST, manifest_of
from logpersister_operator.collectors.reports import reports_of, told_by
from logpersister_operator.commons import Commons
from logpersister_operator.companion import RESYNC_SECONDS, Companion
from logpersister_operator.crd.status_collector import CollectorStatus
from logpersister_operator.decide.conditions import is_settled
from logpersister_operator.managed_resources import Kept
from logpersister_operator.observe.children import RefusedError
from logpersister_operator.observe.resource import key_of, parsed_as, understood
from logpersister_operator.observe.secrets import SecretCache
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import MemberReport, ResourceKey, pods_of
from logpersister_operator.pages.collector_glance import CollectorGlance
from logpersister_operator.render.pod_frame import STOP_MARGIN_SECONDS

UNSETTLED_SECONDS: Final = 15.0
"""The longest pause while time alone may change a verdict."""


@dataclass(slots=True)
class _Kept(Kept):
    secrets: SecretCache = field(default_factory=SecretCache)
    parsed: tuple[tuple[str, int], Parsed] | None = None
    """The spec of a version of the resource: thousands of feeds take a while."""


class Collectors(Companion[_Kept]):
    """Looks after all FeedCollectors."""

    kind = FEED_COLLECTOR
    threads = 16

    def __init__(self, commons: Commons) -> None:
        super().__init__(commons, _Kept)

    def glances(self) -> Mapping[ResourceKey, CollectorGlance]:
        """Return what is known of each resource that was reconciled, for pages."""
        return {key: self._glance(key, understood(CollectorStatus, one)) for key, one in self.statuses().items()}

    def _glance(self, key: ResourceKey, status: CollectorStatus) -> CollectorGlance:
        said = self._reports.answer(key) or {}
        feeds, spool = told_by(reports_of(said))
        if feeds is not None:
            status = status.model_copy(update={"feeds": feeds, "spool": spool})
        return CollectorGlance(key, status, said, self._pods(key))

    def reconcile(self, resource: Document) -> float:
        """Reconcile a resource once; return in how many seconds the next reconciliation must begin at the latest."""
        kept = self._managed.get(key_of(resource))
        state = self._observe(resource, kept)
        done = self._reconciler.reconcile(Subject(state.document, state, decide, CollectorState.with_status))
        kept.status = done.status
        pauses = [RESYNC_SECONDS if is_settled(done.status) else UNSETTLED_SECONDS, kept.secrets.seconds_left]
        return min(pauses if done.again_seconds is None else [*pauses, done.again_seconds])

    def drain(self, resource: Document) -> Drain:
        """Return what lets the replicas of a resource that is being deleted send what they have."""
        key, uid = key_of(resource), resource["metadata"]["uid"]
        manifest = self._parsed(resource, self._managed.get(key)).manifest
        grace = 0.0 if manifest is None else manifest.spec.shutdown_grace.total_seconds()

        def look() -> Remains:
            if refusal := self._commons.refusal(key.namespace):
                raise RefusedError(refusal)
            children = self._commons.children.of(key).values()
            return replace(
                Remains.of(uid, children, pods_of(children, COLLECTOR)), grace_seconds=grace + STOP_MARGIN_SECONDS
            )

        return Drain(self._commons.cluster, look)

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

    def _pods(self, key: ResourceKey) -> list[Pod]:
        return pods_of(self._commons.children.of(key).values(), COLLECTOR)

    def _essence(self, report: MemberReport) -> object:
        if report.document is None:
            return report.error
        feeds, kafka = report.document.get("feeds"), report.document.get("kafka")
        counts = [feeds.get(name) for name in ("total", "silent", "failing")] if isinstance(feeds, dict) else None
        return counts, kafka


def _parse(resource: Document) -> Parsed:
    """Return the spec as a manifest: it is checked as the CRD does, and for more."""
    manifest, problems = parsed_as(FeedCollector, resource)
    if manifest is None:
        return Parsed(None, problems)
    size = len(manifest_of(manifest).encode())
    if size <= LARGEST_MANIFEST:
        return Parsed(manifest)
    told = f"{len(manifest.spec.feeds)} feeds take {size:,} bytes, and a ConfigMap holds {LARGEST_MANIFEST:,}"
    return Parsed(None, f"spec.feeds: {told}; make two resources of them")
