"""Views of the API server's objects: of each kind the fields that some decision reads. Pure.

`observe/objects.py` builds them, and decisions get nothing else. So a field that is not kept cannot be read: the type
checker refuses it. A view is a tenth of its object, and thousands are kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from logpersister_operator.cluster.kinds import Reference


@dataclass(frozen=True, slots=True)
class Owner:
    """One entry of ``metadata.ownerReferences``."""

    kind: str
    name: str
    uid: str
    is_controller: bool = False
    blocks_deletion: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """An object of a resource, of any kind."""

    kind: str
    namespace: str
    name: str
    uid: str = ""
    version: int = 0
    """``metadata.resourceVersion`` as a number: the API server lets one compare those of one kind since 1.35."""
    generation: int = 0
    """Rises with each change of the spec; 0 for kinds that have none."""
    created: datetime | None = None
    deadline: datetime | None = None
    """When an object that is being deleted should be gone; None for one that stays."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()

    @property
    def reference(self) -> Reference:
        return Reference(self.kind, self.name)

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted."""
        return self.deadline is not None

    def is_owned_by(self, uid: str) -> bool:
        return any(owner.uid == uid for owner in self.owners)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigMap(Child):
    """What a revision was made with."""

    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulSet(Child):
    """Members of one revision, as they shall be, and as the controller of StatefulSets counts them."""

    replicas: int = 0
    template_annotations: Mapping[str, str] = field(default_factory=dict)
    observed_generation: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""


@dataclass(frozen=True, slots=True)
class PodCondition:
    """One entry of ``status.conditions`` of a pod."""

    is_true: bool
    since: datetime | None = None
    """When it became so; None when nobody says."""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """One run of a container that is over."""

    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    started: datetime | None = None
    finished: datetime | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """The status of a container."""

    name: str
    image: str = ""
    restarts: int = 0
    waits: str = ""
    """Reason why it does not run yet, as Kubernetes calls it; empty when it is not waiting, or for no reason."""
    waits_message: str = ""
    ended: Ended | None = None
    """The present run, if that is over."""
    ended_before: Ended | None = None
    """The run before the present one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod(Child):
    """The pod of a member, an executor or a shadow."""

    node: str = ""
    """Empty as long as it waits for one."""
    address: str = ""
    conditions: Mapping[str, PodCondition] = field(default_factory=dict)
    """Conditions by type, such as ``Ready``."""
    init_containers: tuple[Container, ...] = ()
    containers: tuple[Container, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether it has the condition Ready, and is not on its way out."""
        condition = self.conditions.get("Ready")
        return condition is not None and condition.is_true and not self.is_leaving

    @property
    def without_node(self) -> PodCondition | None:
        """The condition of a pod for which there is no node; None for others."""
        condition = self.conditions.get("PodScheduled")
        return None if condition is None or condition.is_true else condition

    def unready_since(self, now: datetime) -> datetime:
        """Return since when it is not ready; ``now`` when it is, or nobody says."""
        condition = self.conditions.get("Ready")
        if self.is_ready or condition is None or condition.is_true:
            return now
        return condition.since or now
