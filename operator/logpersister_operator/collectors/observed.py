"""What is observed of one FeedCollector. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from logpersister.manifest import FeedCollector
from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.collectors.render import COLLECTOR, CollectorApp
from logpersister_operator.collectors.reports import ReplicaReport, reports_of
from logpersister_operator.crd.status_collector import CollectorStatus
from logpersister_operator.decide.health.observed_fleets import lacks_pods
from logpersister_operator.decide.health.pod_failures import is_held_up
from logpersister_operator.member_defaults import NO_DEFAULTS, MemberDefaults
from logpersister_operator.observe.resource import understood
from logpersister_operator.observed_objects import Child, Pod, StatefulSet
from logpersister_operator.observed_state import MemberReport, OwnObjects, Refusal, pods_of


@dataclass(frozen=True, slots=True)
class Parsed:
    """A spec as a manifest, or what is wrong with it."""

    manifest: FeedCollector | None
    problems: str = ""


@dataclass(frozen=True, slots=True)
class CollectorState:
    """One FeedCollector, its children, and what its replicas say."""

    now: datetime
    document: Document
    """The resource, with the status that was written last."""
    parsed: Parsed
    image: str
    defaults: MemberDefaults = NO_DEFAULTS
    children: Mapping[Reference, Child] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Secrets that feeds name and that are not there, in words."""
    reports: Mapping[str, MemberReport] | None = None
    """Reports by the name of the pod; None as long as this process has not asked."""
    refusals: Mapping[Reference, Refusal] = field(default_factory=dict)
    """Objects that could not be made or changed at the last attempt."""
    told: Mapping[str, str] = field(default_factory=dict)
    """The last warning about objects that wait for something, by uid."""

    @property
    def uid(self) -> str:
        return str(self.document["metadata"]["uid"])

    @property
    def generation(self) -> int:
        return int(self.document["metadata"]["generation"])

    @property
    def is_being_deleted(self) -> bool:
        return "deletionTimestamp" in self.document["metadata"]

    @property
    def before(self) -> CollectorStatus:
        """The status as it was written last."""
        return understood(CollectorStatus, self.document.get("status") or {})

    @property
    def app(self) -> CollectorApp | None:
        """What is to run; None while the spec is not valid."""
        if self.parsed.manifest is None:
            return None
        namespace = self.document["metadata"]["namespace"]
        return CollectorApp.of(
            self.parsed.manifest, namespace=namespace, uid=self.uid, image=self.image, defaults=self.defaults
        )

    @property
    def own(self) -> OwnObjects:
        return OwnObjects(self.uid, tuple(child for _, child in sorted(self.children.items())))

    @property
    def stateful_set(self) -> StatefulSet | None:
        found = (one for one in self.children.values() if isinstance(one, StatefulSet))
        return next((one for one in found if one.is_owned_by(self.uid) and not one.is_leaving), None)

    @property
    def pods(self) -> list[Pod]:
        return pods_of(self.own.children, COLLECTOR)

    @property
    def unexplained(self) -> list[str]:
        """The uids of objects that wait without saying why: the StatefulSet for pods, pods for containers."""
        found = self.stateful_set
        lacking = [found.uid] if found is not None and lacks_pods(found, self.pods) else []
        return [*lacking, *(pod.uid for pod in self.pods if is_held_up(pod))]

    def replica_reports(self) -> list[ReplicaReport]:
        """Return what replicas say that answer."""
        return reports_of(self.reports or {})

    def with_status(self, status: Document, refusals: Mapping[Reference, Refusal]) -> "CollectorState":
        """Return the same with another status, and with what was refused meanwhile."""
        return replace(self, document={**self.document, "status": status}, refusals=refusals)
