"""What is done about a replay: planned once, stored by a Job, then switched and cleaned up if that is wanted. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from logpersister.manifest.log_replay import LogReplay, SwitchSpec
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.crd.replay_status import Phase
from logpersister_operator.decide.conditions import Obstacle
from logpersister_operator.decide.health.pod_failures import pod_failure
from logpersister_operator.observed_objects import Child, Job
from logpersister_operator.plan import Tuning
from logpersister_operator.replays import jobs
from logpersister_operator.replays.jobs import ReplayObjects
from logpersister_operator.replays.last_words import last_words
from logpersister_operator.replays.observed_replay import ObservedReplay, Wanted
from logpersister_operator.replays.plans import ReplayPlan, plan_in, plan_of
from logpersister_operator.replays.replay_reasons import ReplayReason

AGAIN_SECONDS: Final = 15.0
"""How soon what is missing is looked for again."""
_NEVER: Final = frozenset({ReplayReason.SPEC_INVALID, ReplayReason.GENERATION_TOO_LOW, ReplayReason.PLAN_UNREADABLE})
"""Obstacles that no time removes, since a replay cannot be changed."""
_AGAIN: Final = "; correct that, then set spec.suspend to true and to false again, and it goes on where it was"


@dataclass(frozen=True, slots=True)
class Course:
    """What is decided about a replay."""

    phase: Phase
    obstacle: Obstacle | None = None
    """What is in the way; in the phase Failed what has ended it."""
    stored_at: datetime | None = None
    switched_at: datetime | None = None
    old_deleted_at: datetime | None = None
    began: datetime | None = None
    """When the processes that store began; None while none shall run."""
    apply: Sequence[Document] = ()
    delete: Sequence[Child] = ()
    tune: Sequence[Tuning] = ()
    again_seconds: float | None = None


def course_of(observed: ObservedReplay) -> Course:
    """Decide about a replay."""
    if observed.replay is None:
        return Course("Failed", Obstacle(ReplayReason.SPEC_INVALID, observed.problems))
    if observed.plan is None:
        return _planning(observed, observed.replay, observed.wanted or Wanted())
    plan = plan_in(observed.plan)
    if plan is None:
        told = (
            f"ConfigMap {observed.plan.name} is not as the operator made it; delete it, and the replay is planned anew"
        )
        return Course("Failed", Obstacle(ReplayReason.PLAN_UNREADABLE, told))
    return _Planned(observed, observed.replay, plan).course()


def _planning(observed: ObservedReplay, replay: LogReplay, wanted: Wanted) -> Course:
    status, spec = observed.status, replay.spec
    if status.stored_at is not None:  # somebody has deleted the plan of a replay that has stored all
        done: Phase = "Stored" if status.switched_at is None else "Switched"
        return Course(done, None, status.stored_at, status.switched_at, status.old_deleted_at)
    plan = plan_of(spec, wanted.resource, wanted.backup, executors=observed.executors)
    obstacle = plan if isinstance(plan, Obstacle) else _obstacle(spec.generation, wanted)
    if obstacle is not None:
        never = obstacle.reason in _NEVER
        return Course("Failed" if never else "Pending", obstacle, again_seconds=None if never else AGAIN_SECONDS)
    assert isinstance(plan, ReplayPlan)
    made = _objects(observed, replay, plan)
    apply = [made.config_map(), *made.network_policy(), made.storing()]
    return _with_refusals(observed, Course("Suspended" if spec.suspend else "Planning", apply=apply))


def _obstacle(generation: int, wanted: Wanted) -> Obstacle | None:
    if wanted.holder:
        told = (
            f"spec.generation: LogReplay {wanted.holder} has generation {generation} of this resource; this one waits "
            "until that one is deleted, or create one with another generation"
        )
        return Obstacle(ReplayReason.GENERATION_TAKEN, told)
    if wanted.missing_secrets:
        told = f"{', '.join(wanted.missing_secrets)} of the resource or its backup is missing; create it"
        return Obstacle(ReplayReason.SECRET_MISSING, told)
    return None


@dataclass(frozen=True, slots=True)
class _Planned:
    """A replay that has its plan."""

    observed: ObservedReplay
    replay: LogReplay
    plan: ReplayPlan

    def course(self) -> Course:
        observed = self.observed
        job = observed.job(jobs.storing_job(observed.name))
        stored = observed.status.stored_at or (None if job is None else job.completed)
        found = self._storing(job) if stored is None else self._finishing(stored)
        return _with_refusals(observed, found)

    def _storing(self, job: Job | None) -> Course:
        suspend = self.replay.spec.suspend
        phase: Phase = "Suspended" if suspend else self._working
        if job is None:
            made = self._made
            if self._is_leaving(jobs.storing_job(self.observed.name)):
                return Course(phase)
            return Course(phase, apply=[*made.network_policy(), made.storing()])
        if job.failed is not None:
            return self._failed(job, ReplayReason.REPLAY_FAILED)
        tuning = self._made.tuning
        if job.parallelism != tuning["parallelism"] and self.replay.spec.max_bytes_per_second is not None:
            return Course(phase, delete=[job])  # each process has its share of the rate, in the Job's template
        changed = (job.parallelism, job.is_suspended) != (tuning["parallelism"], tuning["suspend"])
        tune = [Tuning(job, tuning)] if changed else []
        if suspend:
            return Course(phase, tune=tune)
        return Course(phase, self._trouble(job), began=job.started, tune=tune)

    @property
    def _working(self) -> Phase:
        return "Planning" if self.observed.status.progress is None and not self._tells else "Running"

    @property
    def _tells(self) -> bool:
        return any(one.get("replay") for one in self.observed.reports.values())

    def _trouble(self, job: Job) -> Obstacle | None:
        """Return what keeps the processes of a Job that goes on from working; None when nothing does."""
        observed = self.observed
        pods = observed.pods(job)
        found = pod_failure(pods, observed.now, observed.told)
        if found is not None:
            return found
        if job.uid in observed.told:
            return Obstacle(ReplayReason.CHILD_REFUSED, f"pods of {job.reference}: {observed.told[job.uid]}")
        words = "" if any(one.is_ready for one in pods) else last_words(pods)
        return (
            Obstacle(ReplayReason.REPLAY_FAILED, f"the last process failed and is tried again: {words}")
            if words
            else None
        )

    def _finishing(self, stored: datetime) -> Course:
        status, wanted = self.observed.status, self.replay.spec.switch
        so_far = Course(
            "Stored", stored_at=stored, switched_at=status.switched_at, old_deleted_at=status.old_deleted_at
        )
        if status.switched_at is None:
            return so_far if wanted is None else self._switching(so_far, wanted)
        return self._switched(so_far, status.switched_at, wanted)

    def _switching(self, so_far: Course, wanted: SwitchSpec) -> Course:
        name = jobs.switching_job(self.observed.name)
        job = self.observed.job(name)
        if job is not None and job.completed is not None:
            return self._switched(so_far, job.completed, wanted)
        make = partial(self._made.switching, delete_old=False)
        return self._once(replace(so_far, phase="Switching"), name, make, ReplayReason.SWITCH_FAILED)

    def _switched(self, so_far: Course, at: datetime, wanted: SwitchSpec | None) -> Course:
        so_far = replace(so_far, phase="Switched", switched_at=at)
        if wanted is None or wanted.delete_old is None or so_far.old_deleted_at is not None:
            return so_far
        left = (at + wanted.delete_old.after - self.observed.now).total_seconds()
        if left > 0:
            return replace(so_far, again_seconds=left)
        name = jobs.deleting_job(self.observed.name)
        job = self.observed.job(name)
        if job is not None and job.completed is not None:
            return replace(so_far, old_deleted_at=job.completed)
        return self._once(so_far, name, partial(self._made.switching, delete_old=True), ReplayReason.DELETION_FAILED)

    def _once(self, so_far: Course, name: str, make: Callable[[], Document], reason: ReplayReason) -> Course:
        """Have a Job run that is not done yet, unless the replay is suspended."""
        job = self.observed.job(name)
        if job is None:
            waits = self.replay.spec.suspend or self._is_leaving(name)
            return so_far if waits else replace(so_far, apply=[make()])
        if job.failed is None:
            return replace(so_far, obstacle=self._trouble(job))
        failed = self._failed(job, reason)
        return replace(so_far, phase=failed.phase, obstacle=failed.obstacle, delete=failed.delete)

    def _failed(self, job: Job, reason: ReplayReason) -> Course:
        """Say why a Job has failed; it is made anew after the replay was suspended, which is how a person says so."""
        if self.replay.spec.suspend:
            return Course("Suspended", delete=[job])
        assert job.failed is not None
        words = last_words(self.observed.pods(job)) or job.failed.message
        return Course("Failed", Obstacle(reason, f"{words}{_AGAIN}"))

    def _is_leaving(self, name: str) -> bool:
        return any(one.name == name and one.is_leaving for one in self.observed.children.values())

    @property
    def _made(self) -> ReplayObjects:
        return _objects(self.observed, self.replay, self.plan)


def _objects(observed: ObservedReplay, replay: LogReplay, plan: ReplayPlan) -> ReplayObjects:
    return ReplayObjects.of(observed.owner, replay.spec, plan, observed.image, observed.defaults)


def _with_refusals(observed: ObservedReplay, course: Course) -> Course:
    """Say what the API server refuses; it is tried again."""
    for reference, refusal in observed.refusals.items():
        return replace(course, obstacle=Obstacle(ReplayReason.CHILD_REFUSED, f"{reference}: {refusal.message}"))
    return course
