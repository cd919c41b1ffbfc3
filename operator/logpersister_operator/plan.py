"""What the operator is to do about one resource: the output of every decision. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.observed_objects import Child, Job, Pod, StatefulSet
from logpersister_operator.rollout.progress import Ended, RolloutProgress
from logpersister_operator.rollout.rollout_events import Event


@dataclass(frozen=True, slots=True)
class Scale:
    """A StatefulSet that shall have another number of members, or whose members restart: nothing else of it changes."""

    stateful_set: StatefulSet
    members: int
    restart: str = ""
    """Another value of their annotation; empty leaves it."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """A Job of which only what may change while it runs is changed."""

    job: Job
    spec: Document
    """The fields of its spec that change."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, in this order."""

    status: Document
    """The whole status."""
    apply: Sequence[Document] = ()
    """Children, in the order in which they are needed."""
    delete: Sequence[Child] = ()
    """Children, as they were seen, that are no longer needed."""
    events: Sequence[Event] = ()
    leave: Sequence[str] = ()
    """Names of members that have a place in the group and will not come back."""
    scale: Sequence[Scale] = ()
    tune: Sequence[Tuning] = ()
    restart: Sequence[Pod] = ()
    """Pods of stalled members, as observed, and of those whose node is lost: a deleted pod comes back. The status has
    counted the restarts already."""
    again_seconds: float | None = None
    """When to look again at the latest, though nothing changes."""
    target_seconds: float | None = None
    """How long records may wait; None while nothing runs that says so."""
    progress: RolloutProgress | None = None
    """How far the rollout is."""
    ended: Sequence[Ended] = ()
    """Ended rollouts with this plan."""
