"""Looks after the resources of the kind LogReplay: observes each, decides, and has that done."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from logpersister.manifest import LogPersister
from logpersister.manifest.log_replay import LogReplay
from logpersister_operator.act.drain import Drain, Remains
from logpersister_operator.act.reconciler import Subject
from logpersister_operator.cluster.kinds import JOB, LOG_REPLAY, LOGPERSISTER, Document, Reference
from logpersister_operator.commons import Commons
from logpersister_operator.companion import RESYNC_SECONDS, Companion
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.managed_resources import Kept
from logpersister_operator.observe.resource import key_of, parsed_as, resource_of, understood
from logpersister_operator.observe.secrets import read_secrets
from logpersister_operator.observed_objects import Job, Pod
from logpersister_operator.observed_state import MemberReport, Refusal, ResourceKey
from logpersister_operator.replays.claims import Claims
from logpersister_operator.replays.jobs import storing_job
from logpersister_operator.replays.observed_replay import ObservedReplay, Wanted
from logpersister_operator.replays.plans import MISSING, Found, ReplayPlan, plan_of
from logpersister_operator.replays.replay_decision import decide

WORKING_SECONDS: Final = 15.0
"""The longest pause while processes store: the time that is left changes."""


class Replays(Companion[Kept]):
    """Looks after all replays."""

    kind = LOG_REPLAY
    threads = 4

    def __init__(self, commons: Commons) -> None:
        super().__init__(commons, Kept)
        self._claims = Claims()

    def shown(self) -> Mapping[ResourceKey, ReplayStatus]:
        """Return the last status of each resource, for pages."""
        return {key: understood(ReplayStatus, status) for key, status in self.statuses().items()}

    def seen(self, body: Mapping[str, Any]) -> None:
        self._claims.seen(body)

    def gone(self, body: Mapping[str, Any]) -> None:
        self._claims.gone(body)

    def drain(self, resource: Document) -> Drain:  # noqa: ARG002 - other kinds need it
        """Return an end at once: the garbage collector takes the Job, whose processes leave the group in order."""
        return Drain(self._commons.cluster, Remains)

    def reconcile(self, resource: Document) -> float:
        """Reconcile a replay once; raises ClusterError, OutdatedError and NotListedError."""
        done = self._reconciler.reconcile(Subject(resource, self._observe(resource), decide, _after))
        self._managed.get(key_of(resource)).status = done.status
        works = done.status.get("phase") in ("Planning", "Running", "Switching")
        longest = WORKING_SECONDS if works else RESYNC_SECONDS
        return longest if done.again_seconds is None else min(longest, done.again_seconds)

    def _observe(self, resource: Document) -> ObservedReplay:
        settings, key, metadata = self._commons.settings, key_of(resource), resource["metadata"]
        children = self._commons.children.of(key)
        replay, problems = parsed_as(LogReplay, resource)
        observed = ObservedReplay(
            now=datetime.now(UTC),
            namespace=key.namespace,
            name=key.name,
            uid=metadata["uid"],
            generation=int(metadata["generation"]),
            replay=replay,
            problems=problems,
            status=understood(ReplayStatus, self._reconciler.with_latest_status(resource)["status"]),
            image=settings.image,
            defaults=settings.member_defaults,
            executors=settings.executors,
            children=children,
            refusals=self._reconciler.refusals(key),
            reports=self._told(key),
        )
        if replay is not None and observed.plan is None:
            observed = replace(observed, wanted=self._wanted(key, replay))
        events = self._managed.get(key).events
        return replace(observed, told=events.read(self._commons.cluster, key.namespace, observed.unexplained))

    def _wanted(self, key: ResourceKey, replay: LogReplay) -> Wanted:
        """Return what a replay can be planned with, as it is now: nothing of it is watched."""
        place = replay.spec.source.place
        resource = self._found(key.namespace, replay.spec.resource)
        named = None if place is None else place.resource
        backup = None if named is None else self._found(key.namespace, named)
        plan = plan_of(replay.spec, resource, backup, executors=self._commons.settings.executors)
        names = plan.secrets if isinstance(plan, ReplayPlan) else []
        missing = read_secrets(self._commons.cluster, key.namespace, names).seen.missing
        return Wanted(resource, backup, self._claims.holder(key), missing)

    def _found(self, namespace: str, name: str) -> Found:
        document = self._commons.cluster.get(LOGPERSISTER, namespace, name)
        if document is None:
            return MISSING
        known = resource_of(document)
        manifest: LogPersister | None = known.manifest
        return Found(manifest, "" if manifest is not None else known.problems)

    def _pods(self, key: ResourceKey) -> list[Pod]:
        return [one for one in self._storing(key) if one.address and not one.is_over]

    def _essence(self, report: MemberReport) -> object:
        return report.document and report.document.get("replay")

    def _storing(self, key: ResourceKey) -> list[Pod]:
        children = self._commons.children.of(key)
        job = children.get(Reference(JOB.name, storing_job(key.name)))
        pods = [one for one in children.values() if isinstance(one, Pod)]
        return [one for one in pods if isinstance(job, Job) and one.is_owned_by(job.uid)]

    def _told(self, key: ResourceKey) -> dict[str, Mapping[str, Any]]:
        names, reports = {one.name for one in self._storing(key)}, self._reports.answer(key) or {}
        return {name: one.document for name, one in reports.items() if name in names and one.document is not None}


def _after(state: ObservedReplay, status: Document, refusals: Mapping[Reference, Refusal]) -> ObservedReplay:
    return replace(state, status=understood(ReplayStatus, status), refusals=refusals)
