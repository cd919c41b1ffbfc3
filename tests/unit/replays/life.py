"""Plays the cluster for a replay: keeps what is decided, and lets Jobs begin and end."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from logpersister.manifest.load import parse_as
from logpersister.manifest.log_replay import LogReplay
from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.observe.resource import resource_of
from logpersister_operator.observed_objects import view
from logpersister_operator.plan import Plan
from logpersister_operator.replays.observed_replay import ObservedReplay, Wanted
from logpersister_operator.replays.plans import Found
from logpersister_operator.replays.replay_decision import decide
from tests.unit.kubernetes.samples import IMAGE, NOW, resource

LIVE = resource()
BACKUP = resource(output={"kafka": {}}, storage={"bucket": "backups", "prefix": "kafka", "secretName": "s3-backups"})
BACKUP["metadata"]["name"] = "all-backup"
SPEC: Document = {"resource": "clicks-backup", "generation": 2}
PLAN, STORING = Reference("ConfigMap", "again-replay"), Reference("Job", "again")
SWITCHING, DELETING = Reference("Job", "again-switch"), Reference("Job", "again-delete-old")


def replay(**spec: Any) -> Document:
    """Return a replay as the API server has it."""
    return {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "LogReplay",
        "metadata": {
            "name": "again",
            "namespace": "logs",
            "uid": "99999999-2222-3333-4444-555555555555",
            "generation": 1,
            "creationTimestamp": "2026-11-21T11:00:00Z",
        },
        "spec": SPEC | spec,
    }


def found(document: Document) -> Found:
    return Found(resource_of(document).manifest)


def report(stored: int, *, offsets: int = 1000, stored_bytes: int = 0) -> dict[str, Any]:
    return {"replay": {"offsets": offsets, "stored": stored}, "uploads": {"bytes": stored_bytes}}


class ReplayLife:
    """A replay, and the objects that it has."""

    def __init__(self, **spec: Any) -> None:
        self.document = replay(**spec)
        self.wanted: Wanted | None = Wanted(found(LIVE), found(BACKUP))
        self.children: dict[Reference, Document] = {}
        self.reports: dict[str, Mapping[str, Any]] = {}
        self.now: datetime = NOW
        self.status: Document = {}
        self._known: dict[str, Any] = {}
        self._numbers = iter(range(1, 1 << 30))

    def change(self, **spec: Any) -> None:
        self.document["spec"] = self.document["spec"] | spec
        self.document["metadata"]["generation"] += 1

    def observed(self, **known: Any) -> ObservedReplay:
        metadata = self.document["metadata"]
        return replace(
            ObservedReplay(
                now=self.now,
                namespace=metadata["namespace"],
                name=metadata["name"],
                uid=metadata["uid"],
                generation=metadata["generation"],
                replay=parse_as(LogReplay, self.document),
                status=ReplayStatus.model_validate(self.status),
                image=IMAGE,
                wanted=self.wanted if PLAN not in self.children else None,
                children={reference: view(one) for reference, one in self.children.items()},
                reports=self.reports,
            ),
            **known,
        )

    def step(self, **known: Any) -> Plan:
        """Decide, and do what is decided."""
        plan = decide(self.observed(**known))
        self.status = plan.status
        for child in plan.apply:
            made = {"uid": str(next(self._numbers)), "generation": 1, **child["metadata"]}
            assert Reference.of(child) not in self.children, "an object is made anew that nothing may change"
            self.children[Reference.of(child)] = {**copy.deepcopy(child), "metadata": made}
        for one in plan.tune:
            job = self.children[one.job.reference]
            job["spec"] = {**job["spec"], **one.spec}
        for gone in plan.delete:
            del self.children[gone.reference]
        return plan

    def begin(self, at: datetime = NOW) -> None:
        """Let the Job that stores begin."""
        self.children[STORING].setdefault("status", {})["startTime"] = at.isoformat()

    def end(self, reference: Reference, kind: str = "Complete", message: str = "") -> None:
        """Let a Job end."""
        at = self.now.isoformat()
        condition = {"type": kind, "status": "True", "lastTransitionTime": at, "message": message}
        self.children[reference].setdefault("status", {})["conditions"] = [condition]

    def fail(self, reference: Reference, code: int, said: str) -> None:
        """Let a process of a Job fail."""
        ended = {"exitCode": code, "reason": "Error", "message": said, "finishedAt": self.now.isoformat()}
        owner = {"uid": self.children[reference]["metadata"]["uid"]}
        self.children[Reference("Pod", "again-x1")] = {
            "kind": "Pod",
            "metadata": {"name": "again-x1", "ownerReferences": [owner]},
            "status": {"phase": "Failed", "containerStatuses": [{"name": "member", "state": {"terminated": ended}}]},
        }

    def later(self, **span: float) -> None:
        self.now += timedelta(**span)

    @property
    def phase(self) -> str:
        return str(self.status["phase"])

    def verdict(self, aspect: str) -> tuple[str, str, str]:
        one = next(one for one in self.status["conditions"] if one["type"] == aspect)
        return one["status"], one["reason"], one["message"]

    @classmethod
    def begun(cls, **spec: Any) -> "ReplayLife":
        """Return one whose Job has begun."""
        life = cls(**spec)
        life.step()
        life.begin()
        return life

    @classmethod
    def stored(cls, **spec: Any) -> "ReplayLife":
        """Return one that has stored all."""
        life = cls.begun(**spec)
        life.reports = {"again-x0": report(400)}
        life.step()
        life.end(STORING)
        life.reports = {}
        life.step()
        return life
