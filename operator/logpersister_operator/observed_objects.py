"""Views of the API server's objects: of each kind the fields that some decision reads. Pure.

`view` makes them, and decisions get nothing else. So a field that is not kept cannot be read: the type checker refuses
it. Each field says where the API has it; it may be missing or null there. A view is a tenth of its object. Thousands
are kept: equal names are one string.
"""

import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import AliasPath, BeforeValidator, ConfigDict, Field, PlainValidator, TypeAdapter
from pydantic.dataclasses import dataclass

from logpersister_operator.cluster.kinds import CONFIG_MAP, JOB, POD, STATEFUL_SET, Document, Reference

_LONGEST: Final = 100
"""Characters of a text that may be one of many equal ones."""


def _text(text: str | None) -> str:
    return sys.intern(text) if text and len(text) <= _LONGEST else text or ""


def _texts(found: Mapping[str, str] | None) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in (found or {}).items()}


def _time(time: datetime | str | None) -> datetime | None:
    return datetime.fromisoformat(time) if isinstance(time, str) and time else time or None


def _by_type(found: Any) -> Any:
    return found if isinstance(found, Mapping) else {_text(one["type"]): one for one in found or ()}


_Text = Annotated[str, PlainValidator(_text)]
_Texts = Annotated[Mapping[str, str], PlainValidator(_texts)]
_Time = Annotated[datetime | None, PlainValidator(_time)]
_Number = Annotated[int, PlainValidator(lambda found: int(found or 0))]
_Truth = Annotated[bool, PlainValidator(lambda found: found in (True, "True"))]
_OrNone = BeforeValidator(lambda found: found or None)
_OrNothing = BeforeValidator(lambda found: found or ())
_CONFIG: Final = ConfigDict(validate_by_name=True, validate_by_alias=True)


def _at(name: str, *below: str, default: Any = None) -> Any:
    """Return a field that stands at a path of the object; what is missing is empty unless a default is given."""
    return Field(default=default, validation_alias=AliasPath(name, *below), validate_default=True)


@dataclass(frozen=True, slots=True, config=_CONFIG)
class Owner:
    """One entry of ``metadata.ownerReferences``."""

    kind: _Text = ""
    name: _Text = ""
    uid: _Text = ""
    is_controller: _Truth = _at("controller")
    blocks_deletion: _Truth = _at("blockOwnerDeletion")


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Child:
    """An object of a resource, of any kind."""

    kind: _Text
    namespace: _Text = _at("metadata", "namespace")
    name: _Text = _at("metadata", "name")
    uid: _Text = _at("metadata", "uid")
    version: _Number = _at("metadata", "resourceVersion")
    """As a number: the API server lets one compare those of one kind since 1.35."""
    generation: _Number = _at("metadata", "generation")
    """Rises with each change of the spec; 0 for kinds that have none."""
    created: _Time = _at("metadata", "creationTimestamp")
    deadline: _Time = _at("metadata", "deletionTimestamp")
    """When an object that is being deleted should be gone; None for one that stays."""
    labels: _Texts = _at("metadata", "labels")
    annotations: _Texts = _at("metadata", "annotations")
    owners: Annotated[tuple[Owner, ...], _OrNothing] = _at("metadata", "ownerReferences")

    @property
    def reference(self) -> Reference:
        return Reference(self.kind, self.name)

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted."""
        return self.deadline is not None

    def is_owned_by(self, uid: str) -> bool:
        return any(owner.uid == uid for owner in self.owners)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ConfigMap(Child):
    """What a revision was made with."""

    data: _Texts = _at("data")


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class StatefulSet(Child):
    """Members of one revision, as they shall be, and as the controller of StatefulSets counts them."""

    replicas: _Number = _at("spec", "replicas", default=1)
    template_annotations: _Texts = _at("spec", "template", "metadata", "annotations")
    observed_generation: _Number = _at("status", "observedGeneration")
    ready_replicas: _Number = _at("status", "readyReplicas")
    updated_replicas: _Number = _at("status", "updatedReplicas")
    current_revision: _Text = _at("status", "currentRevision")
    update_revision: _Text = _at("status", "updateRevision")


@dataclass(frozen=True, slots=True, config=_CONFIG)
class PodCondition:
    """One entry of ``status.conditions`` of a pod or a Job."""

    is_true: _Truth = _at("status")
    since: _Time = _at("lastTransitionTime")
    """When it became so; None when nobody says."""
    reason: _Text = ""
    message: _Text = ""


@dataclass(frozen=True, slots=True, config=_CONFIG)
class Ended:
    """One run of a container that is over."""

    exit_code: int | None = _at("exitCode")
    reason: _Text = ""
    message: _Text = ""
    started: _Time = _at("startedAt")
    finished: _Time = _at("finishedAt")


@dataclass(frozen=True, slots=True, config=_CONFIG)
class Container:
    """The status of a container."""

    name: _Text = ""
    image: _Text = ""
    restarts: _Number = _at("restartCount")
    waits: _Text = _at("state", "waiting", "reason")
    """Reason why it does not run yet, as Kubernetes calls it; empty when it is not waiting, or for no reason."""
    waits_message: _Text = _at("state", "waiting", "message")
    ended: Annotated[Ended | None, _OrNone] = _at("state", "terminated")
    """The present run, if that is over."""
    ended_before: Annotated[Ended | None, _OrNone] = _at("lastState", "terminated")
    """The run before the present one."""


_Containers = Annotated[tuple[Container, ...], _OrNothing]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Pod(Child):
    """The pod of a member, an executor or a shadow."""

    phase: _Text = _at("status", "phase")
    node: _Text = _at("spec", "nodeName")
    """Empty as long as it waits for one."""
    address: _Text = _at("status", "podIP")
    conditions: Annotated[Mapping[str, PodCondition], BeforeValidator(_by_type)] = _at("status", "conditions")
    """Conditions by type, such as ``Ready``."""
    init_containers: _Containers = _at("status", "initContainerStatuses")
    containers: _Containers = _at("status", "containerStatuses")

    @property
    def is_over(self) -> bool:
        """Whether all of its containers have ended for good."""
        return self.phase in ("Succeeded", "Failed")

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


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Job(Child):
    """Processes that end, as they shall be, and as the controller of Jobs sees them."""

    parallelism: _Number = _at("spec", "parallelism", default=1)
    is_suspended: _Truth = _at("spec", "suspend")
    started: _Time = _at("status", "startTime")
    """When its processes began; anew after each pause."""
    conditions: Annotated[Mapping[str, PodCondition], BeforeValidator(_by_type)] = _at("status", "conditions")
    """Conditions by type: ``Complete``, ``Failed`` and others."""

    @property
    def completed(self) -> datetime | None:
        """When it had done its work; None before that."""
        condition = self.conditions.get("Complete")
        return condition.since if condition is not None and condition.is_true else None

    @property
    def failed(self) -> PodCondition | None:
        """Why it has given up; None when it has not."""
        condition = self.conditions.get("Failed")
        return condition if condition is not None and condition.is_true else None


_KINDS: Final = {POD.name: Pod, STATEFUL_SET.name: StatefulSet, CONFIG_MAP.name: ConfigMap, JOB.name: Job}
_READERS: Final = {kind: TypeAdapter[Child](kind) for kind in (Child, *_KINDS.values())}


def view(document: Document) -> Child:
    """Return what is kept of an object as the API server gives it."""
    return _READERS[_KINDS.get(document["kind"], Child)].validate_python(document)
