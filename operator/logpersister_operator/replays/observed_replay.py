"""What is observed of one replay: the input of every decision about it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from logpersister.manifest.log_replay import LogReplay
from logpersister_operator.cluster.kinds import JOB, LOG_REPLAY, POD, Reference
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.decide.health.pod_failures import is_held_up
from logpersister_operator.member_defaults import NO_DEFAULTS, MemberDefaults
from logpersister_operator.observed_objects import Child, ConfigMap, Job, Pod
from logpersister_operator.observed_state import Refusal
from logpersister_operator.render.ownership import Owner
from logpersister_operator.replays.jobs import plan_reference
from logpersister_operator.replays.plans import MISSING, Found


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a replay can be planned with; asked for only before it is."""

    resource: Found = MISSING
    backup: Found | None = None
    """None: the replay names no resource of a backup."""
    holder: str = ""
    """Name of the LogReplay that has the generation already; empty: none."""
    missing_secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedReplay:
    """A replay, its objects, and what its processes say."""

    now: datetime
    namespace: str
    name: str
    uid: str
    generation: int
    """The ``metadata.generation``."""
    replay: LogReplay | None
    """None: its spec is invalid."""
    problems: str = ""
    status: ReplayStatus = field(default_factory=ReplayStatus)
    image: str = ""
    defaults: MemberDefaults = NO_DEFAULTS
    executors: bool = True
    wanted: Wanted | None = None
    """None once it is planned."""
    children: Mapping[Reference, Child] = field(default_factory=dict)
    refusals: Mapping[Reference, Refusal] = field(default_factory=dict)
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What processes say that answer, by the names of their pods."""
    told: Mapping[str, str] = field(default_factory=dict)
    """The last warning about each Job and pod that has one, by uid."""

    @property
    def owner(self) -> Owner:
        return Owner(LOG_REPLAY, self.namespace, self.name, self.uid)

    @property
    def plan(self) -> ConfigMap | None:
        """The ConfigMap that keeps the plan; None before there is one of our own."""
        found = self._own(plan_reference(self.name))
        return found if isinstance(found, ConfigMap) else None

    def job(self, name: str) -> Job | None:
        """Return a Job of our own that stays; None when there is none."""
        found = self._own(Reference(JOB.name, name))
        return found if isinstance(found, Job) else None

    def pods(self, job: Job) -> list[Pod]:
        """Return the pods of a Job, the oldest first."""
        pods = [one for one in self.children.values() if one.kind == POD.name and isinstance(one, Pod)]
        of_job = [one for one in pods if one.is_owned_by(job.uid)]
        return sorted(of_job, key=lambda one: (one.created or self.now, one.name))

    @property
    def unexplained(self) -> list[str]:
        """The uids of objects that wait without saying why: Jobs for pods, pods for containers."""
        pods = [one for one in self.children.values() if isinstance(one, Pod)]
        jobs = (one for one in self.children.values() if isinstance(one, Job) and one.is_owned_by(self.uid))
        at_work = [one for one in jobs if not (one.is_suspended or one.completed or one.failed)]
        lacking = [one.uid for one in at_work if all(pod.is_over for pod in self.pods(one))]
        return [*lacking, *(pod.uid for pod in pods if is_held_up(pod))]

    def _own(self, reference: Reference) -> Child | None:
        found = self.children.get(reference)
        return found if found is not None and found.is_owned_by(self.uid) and not found.is_leaving else None
