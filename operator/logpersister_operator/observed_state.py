"""The observed state of one resource at one moment: the input of every decision. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from logpersister.group.answers import GroupDescription
from logpersister.manifest import LogPersister
from logpersister.ranges import TopicPartition
from logpersister.report.lag import GenerationShare, LagSummary
from logpersister_operator.cluster.kinds import LOGPERSISTER, Kind, Reference
from logpersister_operator.crd.status import Status
from logpersister_operator.member_defaults import NO_DEFAULTS, MemberDefaults
from logpersister_operator.observed_objects import Child, ConfigMap, Pod, StatefulSet
from logpersister_operator.render.application import MEMBER, REVISION_LABEL, SHADOW
from logpersister_operator.render.ownership import COMPONENT_LABEL, kind_and_name
from logpersister_operator.render.rendering import RENDERING
from logpersister_operator.rollout.record import RolloutRecord

OfRevision = TypeVar("OfRevision", ConfigMap, StatefulSet)
MOST_NAMED: Final = 5
"""Resources that a message names."""
RECONCILE_ANNOTATION: Final = "logpersister.dev/reconcile"
"""Annotation of the resource: ``paused`` leaves everything as it is."""
_ANY_TIME: Final = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, order=True)
class ResourceKey:
    """Namespace, name and kind of a resource."""

    namespace: str
    name: str
    kind: str = LOGPERSISTER.name

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}"
        return place if self.kind == LOGPERSISTER.name else f"{self.kind} {place}"


def labelled(namespace: str, label: str) -> ResourceKey:
    """Return the key of the resource that an object belongs to by its `RESOURCE_LABEL`."""
    kind, name = kind_and_name(label)
    return ResourceKey(namespace, name, kind)


def named(keys: Sequence[ResourceKey], namespace: str) -> str:
    """Return resources in words, for readers of a namespace: who works there need not know what others have."""
    ours = sorted(str(key) for key in keys if key.namespace == namespace)
    others = sum(key.namespace != namespace for key in keys)
    words = [", ".join(ours[:MOST_NAMED])] if ours else []
    if len(ours) > MOST_NAMED:
        words.append(f"{len(ours) - MOST_NAMED} more")
    if others:
        words.append("a resource of another namespace" if others == 1 else f"{others} resources of other namespaces")
    return " and ".join(words)


@dataclass(frozen=True, slots=True)
class Claim:
    """The consumer group that a resource wants, and since when."""

    key: ResourceKey
    uid: str
    created: str
    """When the resource was made; empty for one that the API server does not have yet."""
    group: str
    brokers: frozenset[str]
    """Bootstrap servers, spelt alike in every namespace."""
    running: bool = False
    """Whether it has members, or is getting some."""
    has_run: bool = False
    """Whether it is running, or all of its members were ready once: it may be paused."""
    revisions: frozenset[str] = frozenset()
    """Revisions that have members, or are getting some."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A LogPersister as the API server has it: everything that some decision reads of it."""

    key: ResourceKey
    uid: str
    generation: int
    is_being_deleted: bool
    annotations: Mapping[str, str]
    manifest: LogPersister | None
    """The spec; None when it is not valid."""
    problems: str
    """What is wrong with the spec, a line each; empty when it is valid by itself."""
    claim: Claim | None
    """The consumer group that it wants; None when it does not say where."""
    status: Status
    """The status as it was written last, without sections that are not understood; empty at first."""
    record: RolloutRecord | None
    """The record in the status; None when there is none, or none that makes sense."""
    stable: str | None
    """The stable revision of that record, even if the rest of it makes no sense."""


@dataclass(frozen=True, slots=True)
class StuckPartition:
    """A partition whose committed offset stands still while records wait behind it."""

    partition: TopicPartition
    records: int
    seconds: float
    """How long it has stood still."""


@dataclass(frozen=True, slots=True)
class Flow:
    """How records come and go: rates are differences between two of these."""

    stored: int
    """Sum of the offsets that are stored."""
    written: int
    """Sum of the ends of the partitions."""
    ages: Mapping[str, float | None]
    """Age of the oldest record of each topic, of partitions that are seen to move; None when it is not known."""


@dataclass(frozen=True, slots=True)
class KnownLag:
    """The lag of the whole group, as Kafka reports it."""

    summary: LagSummary
    stuck: tuple[StuckPartition, ...] = ()
    over_target: tuple[str, ...] = ()
    """The first topics whose oldest record waits longer than ``targetLag``."""
    missing_topics: tuple[str, ...] = ()
    """Topics that the spec names and that do not exist."""
    unreadable: str = ""
    """Partitions that are not in all this because they cannot be read now, and why; empty: all can."""
    generations: tuple[GenerationShare, ...] = ()
    """The generations that partitions are in."""
    group: GroupDescription | None = None
    """The members of the group; None when its coordinator does not answer."""
    flow: Flow | None = None
    overdue: Mapping[TopicPartition, float] = field(default_factory=dict)
    """All partitions that stand still though their records should have been stored, and for how many seconds since."""
    watched: bool = True
    """Whether the group was watched for so long that all of these would be known."""

    @property
    def essence(self) -> "KnownLag":
        """This lag without the time at which it was seen."""
        return replace(self, summary=replace(self.summary, observed_at=_ANY_TIME))


@dataclass(frozen=True, slots=True)
class UnknownLag:
    """Why the lag is not known. It is never shown as 0."""

    message: str


LagAnswer = KnownLag | UnknownLag | None
"""None as long as this process has not asked: the previous status goes on to hold."""


@dataclass(frozen=True, slots=True)
class MemberReport:
    """What a member says of itself at ``/status``; None with the reason when it says nothing."""

    document: Mapping[str, Any] | None
    error: str = ""

    @property
    def essence(self) -> object:
        """This report without the time at which it was made."""
        if self.document is None:
            return self.error
        lag = self.document.get("lag")
        return {
            **self.document,
            "observedAt": None,
            "lag": {**lag, "observedAt": None} if isinstance(lag, dict) else lag,
        }


@dataclass(frozen=True, slots=True)
class Stored:
    """What members have stored, and how often uploads failed."""

    objects: int = 0
    bytes: int = 0
    records: int = 0
    dropped: int = 0
    """Records that were left out; they are not among `records`."""
    quarantined: int = 0
    """Records among those that the parser refused."""
    late: int = 0
    """Records among those that came when their folder was finished."""
    failures: int = 0
    failures_last_hour: int = 0


@dataclass(frozen=True, slots=True)
class SecretsSeen:
    """The Secrets that the resource names."""

    digest: str = ""
    """Changes with their content, and reveals nothing of it."""
    missing: tuple[str, ...] = ()
    """What is missing, in words: ``Secret clicks-kafka``, ``key password of Secret clicks-kafka``."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an object is not as it shall be."""

    message: str
    taken: bool = False
    """Whether there is one of that name which is not ours, and so was not touched; else the API server refused it."""

    def about(self, reference: Reference) -> str:
        """Return in words why that object is not as it shall be."""
        return self.message if self.taken else f"the API server refuses {reference}: {self.message}"


@dataclass(frozen=True, slots=True)
class OwnObjects:
    """The objects of a resource. What has its label and another owner belongs to somebody else, except for pods."""

    owner: str
    """The uid of the resource."""
    children: tuple[Child, ...]
    """All of them, sorted by kind and name."""

    def of_kind(self, kind: Kind) -> list[Child]:
        """Return the objects of a kind that are not on their way out."""
        return [child for child in self.children if child.kind == kind.name and self._is_ours(child)]

    def stateful_sets(self) -> dict[str, StatefulSet]:
        """Return the StatefulSets of members by revision, those of shadows apart."""
        return self._by_revision(StatefulSet, of_shadows=False)

    def config_maps(self) -> dict[str, ConfigMap]:
        """Return the ConfigMaps by revision, those of shadows apart."""
        return self._by_revision(ConfigMap, of_shadows=False)

    def shadows(self) -> dict[str, StatefulSet]:
        """Return the StatefulSets of shadows by revision."""
        return self._by_revision(StatefulSet, of_shadows=True)

    def pods(self, component: str = MEMBER) -> list[Pod]:
        """Return the pods of members, executors or shadows, those on their way out too."""
        return pods_of(self.children, component)

    def pods_by_revision(self) -> dict[str, list[Pod]]:
        """Return the pods of members by revision."""
        found: dict[str, list[Pod]] = {}
        for pod in self.pods():
            found.setdefault(pod.labels.get(REVISION_LABEL, ""), []).append(pod)
        return found

    def _by_revision(self, view: type[OfRevision], *, of_shadows: bool) -> dict[str, OfRevision]:
        return {
            child.labels[REVISION_LABEL]: child
            for child in self.children
            if isinstance(child, view)
            and self._is_ours(child)
            and REVISION_LABEL in child.labels
            and (child.labels.get(COMPONENT_LABEL) == SHADOW) is of_shadows
        }

    def _is_ours(self, child: Child) -> bool:
        return not child.is_leaving and child.is_owned_by(self.owner)


def pods_of(children: Iterable[Child], component: str) -> list[Pod]:
    """Return the pods of members, executors or shadows."""
    return [one for one in children if isinstance(one, Pod) and one.labels.get(COMPONENT_LABEL) == component]


@dataclass(frozen=True, slots=True)
class ObservedState:
    """One resource, its children, and what is behind them."""

    now: datetime
    resource: Resource
    image: str
    """The image of members and executors."""
    children: Mapping[Reference, Child] = field(default_factory=dict)
    """Every object with the resource's label, pods included."""
    secrets: SecretsSeen = SecretsSeen()
    lag: LagAnswer = None
    reports: Mapping[str, MemberReport] | None = None
    """Reports by the name of the member's pod; None as long as this process has not asked."""
    silent: Mapping[str, datetime] = field(default_factory=dict)
    """Since when members have not answered that were asked, by the name of their pod."""
    shadow_reports: Mapping[str, MemberReport] = field(default_factory=dict)
    """Reports of shadows, which belong to other groups."""
    stored: Stored | None = None
    """What all members have stored together, those that have ended included; None while that is not known."""
    names: frozenset[str] = frozenset()
    """Names of all members, past ones too, that were seen to be this resource's."""
    refusals: Mapping[Reference, Refusal] = field(default_factory=dict)
    """Objects that could not be made or changed at the last attempt."""
    told: Mapping[str, str] = field(default_factory=dict)
    """The last warning about objects that wait for something, by uid."""
    rivals: Sequence[Claim] = ()
    """Other resources that want the same consumer group."""
    defaults: MemberDefaults = NO_DEFAULTS
    """What the administrator gives to pods of members and executors."""
    rendering: int = RENDERING
    """The version of the pods that this operator makes."""
    executors: bool = True
    """Whether the operator may give members the rights that executors need."""
    turn: str = ""
    """Why a rollout that the operator's settings cause has to wait, in words; empty when it need not."""

    @property
    def key(self) -> ResourceKey:
        return self.resource.key

    @property
    def is_being_deleted(self) -> bool:
        return self.resource.is_being_deleted

    @property
    def status(self) -> Status:
        """The status as it was written last."""
        return self.resource.status

    @property
    def is_unattended(self) -> bool:
        """Whether nothing of the resource may be changed, whatever the spec says."""
        return self.annotation(RECONCILE_ANNOTATION).lower() == "paused"

    def without_reports(self, why: str) -> "ObservedState":
        """Return the same as if no member that was asked had answered."""
        nothing = MemberReport(None, why)
        reports = dict.fromkeys(self.reports or (), nothing)
        return replace(self, reports=reports, shadow_reports=dict.fromkeys(self.shadow_reports, nothing))

    def annotation(self, name: str) -> str:
        """Return an annotation of the resource; empty when it has none of that name."""
        return self.resource.annotations.get(name, "")

    @property
    def own(self) -> OwnObjects:
        """The children by what they are."""
        return OwnObjects(self.resource.uid, tuple(child for _, child in sorted(self.children.items())))

    @property
    def group(self) -> GroupDescription | None:
        """The members of the consumer group; None while they are not known."""
        return self.lag.group if isinstance(self.lag, KnownLag) else None
