"""Resources, children and what is known of them, for tests of rendering and decisions."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from logpersister.ranges import TopicPartition
from logpersister.report.lag import PartitionLag, summarise
from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.crd.status import Status
from logpersister_operator.decide import decision
from logpersister_operator.decide.health import departed_members
from logpersister_operator.decide.reported import Reported
from logpersister_operator.decide.validity import check
from logpersister_operator.observe.resource import resource_of
from logpersister_operator.observe.uploads import UploadTally
from logpersister_operator.observed_objects import Child, view
from logpersister_operator.observed_state import KnownLag, MemberReport, ObservedState, SecretsSeen
from logpersister_operator.plan import Plan, Scale
from logpersister_operator.render.workload import RESTART_ANNOTATION

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
IMAGE = "registry.example/logpersister:0.1.0"
CLICKS = TopicPartition("clicks", 3)

SPEC: Document = {
    "kafka": {"bootstrapServers": "broker-1:9092", "topics": ["clicks"]},
    "storage": {"bucket": "logs", "prefix": "raw", "secretName": "s3"},
    "upload": {"maxAge": "15m"},
}


def resource(*, generation: int = 1, annotations: Mapping[str, str] | None = None, **spec: Any) -> Document:
    """Return a resource as the API server has it; ``spec`` replaces sections."""
    return {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "LogPersister",
        "metadata": {
            "name": "clicks-backup",
            "namespace": "logs",
            "uid": "11111111-2222-3333-4444-555555555555",
            "generation": generation,
            "resourceVersion": "100",
            "labels": {"app.kubernetes.io/managed-by": "argo"},
            "annotations": dict(annotations or {}),
        },
        "spec": copy.deepcopy(SPEC) | spec,
    }


def observed(document: Document | None = None, **known: Any) -> ObservedState:
    """Return what is known of a resource at first, its Secret included; ``known`` replaces the rest.

    Objects go through the views that observers make of them, so a decision reads nothing that is not kept.
    """
    document = document or resource()
    found = replace(
        ObservedState(NOW, resource_of(document), IMAGE),
        **{"secrets": SecretsSeen(digest="0123456789abcdef"), **known, "children": views(known.get("children", {}))},
    )
    if found.reports is None or found.stored is not None:
        return found
    return replace(found, stored=UploadTally().observe(found.reports, document.get("status", {}), NOW))


def views(children: Mapping[Reference, Document]) -> dict[Reference, Child]:
    """Return what observers keep of children."""
    return {reference: view(child) for reference, child in children.items()}


def decide(known: ObservedState) -> Plan:
    """Return the decision from what is known of a resource; its status is one that the definition allows."""
    plan = decision.decide(known, check(known))
    Status.model_validate(plan.status)
    return plan


def reported(known: ObservedState, *, paused: bool = False) -> Reported:
    return Reported(known.now, known.status, known.reports, paused, known.silent)


def departed(known: ObservedState) -> tuple[str, ...]:
    return departed_members.departed(known.key.name, known.own, known.group, known.names)


def lag(records: int = 0, seconds: float = 0.0, **facts: Any) -> KnownLag:
    return replace(KnownLag(summarise([PartitionLag(CLICKS, 100, 100 + records, seconds)], NOW)), **facts)


class Life:
    """Plays the cluster: keeps children as a plan wants them, and lets members get ready."""

    def __init__(self, document: Document | None = None) -> None:
        self.resource = document or resource()
        self.children: dict[Reference, Document] = {}
        self._numbers = iter(range(1, 1 << 30))

    @classmethod
    def running(cls, document: Document | None = None) -> Self:
        """Return one whose members have got ready since the first step."""
        life = cls(document)
        life.step()
        life.get_ready()
        return life

    def observed(self, **known: Any) -> ObservedState:
        return observed(self.resource, children=dict(self.children), **known)

    def change(self, **spec: Any) -> None:
        """Change sections of the spec, as ``kubectl patch`` does."""
        metadata = self.resource["metadata"]
        self.resource = self.resource | {
            "spec": self.resource["spec"] | spec,
            "metadata": metadata | {"generation": metadata["generation"] + 1},
        }

    def annotate(self, **annotations: str) -> None:
        self.resource["metadata"]["annotations"] = annotations

    def step(self, **known: Any) -> Plan:
        """Decide, and do what is decided."""
        plan = decide(self.observed(**known))
        self.resource = self.resource | {"status": plan.status}
        for child in plan.apply:
            self._apply(child)
        for scale in plan.scale:
            known = self.children[scale.stateful_set.reference]
            self._apply(scaled(known, scale))
        for gone in plan.delete:
            del self.children[gone.reference]
        return plan

    def get_ready(self, revision: str | None = None) -> None:
        """Let all members get ready, those of one revision when it is given."""
        for child in self.children.values():
            if child["kind"] == "StatefulSet" and revision in (
                None,
                child["metadata"]["labels"]["logpersister.dev/revision"],
            ):
                child["status"] = {
                    "observedGeneration": child["metadata"]["generation"],
                    "readyReplicas": child["spec"]["replicas"],
                }

    def revisions(self) -> dict[str, int]:
        """Return the members of each revision."""
        return self._replicas("member")

    def shadows(self) -> dict[str, int]:
        """Return the members of the shadow of each revision that has one."""
        return self._replicas("shadow")

    def _replicas(self, component: str) -> dict[str, int]:
        return {
            child["metadata"]["labels"]["logpersister.dev/revision"]: child["spec"]["replicas"]
            for child in self.children.values()
            if child["kind"] == "StatefulSet"
            and child["metadata"]["labels"]["app.kubernetes.io/component"] == component
        }

    def _apply(self, child: Document) -> None:
        known = self.children.get(Reference.of(child))
        new: Document = {"uid": str(next(self._numbers)), "generation": 1}
        metadata = new if known is None else known["metadata"]
        if known is not None and known.get("spec") != child.get("spec"):
            metadata = metadata | {"generation": metadata["generation"] + 1}
        status = {} if known is None else {"status": known.get("status", {})}
        self.children[Reference.of(child)] = {**child, **status, "metadata": {**metadata, **child["metadata"]}}


class Running:
    """A resource whose members run; a test moves the clock, and records do not wait."""

    def __init__(self, document: Document) -> None:
        self.life, self.now = Life(document), NOW
        self.settle(2)
        (self.old,) = self.life.revisions()

    def step(self, minutes: float = 0, **known: Any) -> Plan:
        self.now += timedelta(minutes=minutes)
        return self.life.step(**({"now": self.now, "lag": lag()} | known))

    def settle(self, steps: int = 6, **known: Any) -> dict[str, int]:
        for _ in range(steps):
            self.step(**known)
            self.life.get_ready()
        return self.life.revisions()

    def pods(self, revision: str, count: int, **status: Any) -> list[str]:
        """Let pods of a revision be there; return their names."""
        pods = [pod(f"clicks-backup-{revision}-{number}", revision=revision, **status) for number in range(count)]
        self.life.children |= by_reference(pods)
        return [one["metadata"]["name"] for one in pods]


def scaled(stateful_set: Document, scale: Scale) -> Document:
    """Return a StatefulSet as the API server makes it."""
    spec = copy.deepcopy(stateful_set["spec"]) | {"replicas": scale.members}
    if scale.restart:
        spec["template"]["metadata"].setdefault("annotations", {})[RESTART_ANNOTATION] = scale.restart
    return {**stateful_set, "spec": spec}


def written(aspect: str, status: str, reason: str = "x", message: str = "") -> Document:
    """Return a condition as it was written before."""
    return {
        "type": aspect,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-21T11:00:00Z",
    }


def condition(plan: Plan, aspect: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in plan.status["conditions"] if one["type"] == aspect)
    return found


def verdict(plan: Plan, aspect: str) -> tuple[str, str]:
    """Return status and reason of a condition."""
    found = condition(plan, aspect)
    return found["status"], found["reason"]


def pod(
    name: str,
    *,
    revision: str = "0a1b2c3d4e5f",
    ready: bool = False,
    unready_since: datetime = NOW - timedelta(hours=1),
    **status: Any,
) -> Document:
    """Return a member's pod."""
    since = unready_since.isoformat()
    conditions = [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": since}]
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app.kubernetes.io/component": "member", "logpersister.dev/revision": revision},
        },
        "status": {"conditions": conditions, "podIP": "10.244.0.7", **status},
    }


def waiting(reason: str, message: str = "", *, restarts: int = 0, last: Document | None = None) -> Document:
    """Return the status of a container that waits."""
    return {
        "name": "member",
        "image": IMAGE,
        "restartCount": restarts,
        "state": {"waiting": {"reason": reason, "message": message}},
        "lastState": last or {},
    }


def by_reference(documents: Iterable[Document]) -> dict[Reference, Document]:
    return {Reference.of(document): document for document in documents}


def report(errors: Sequence[Document] = (), **changes: Any) -> MemberReport:
    """Return the report of a member that runs."""
    return MemberReport(
        {
            "state": "running",
            "startedAt": "2026-11-21T11:00:00.000Z",
            "observedAt": "2026-11-21T12:00:00.000Z",
            "executors": None,
            "assignment": {"count": 4, "partitions": []},
            "lag": {"known": True, "complete": True, "records": 0, "seconds": None, "worst": []},
            "uploads": {
                "ranges": 10, "objects": 10, "bytes": 12_345_678, "records": 1_000, "last": "2026-11-21T11:59:00.000Z",
                "failures": len(errors), "failuresLastHour": len(errors),
            },
            "errors": {"count": len(errors), "lastHour": len(errors), "recent": list(errors)},
            "progress": {"at": "2026-11-21T11:59:00.000Z", "jobs": []},
            "heldPartitions": {"count": 0, "first": []},
            "dataLoss": {"offsets": 0, "recent": []},
            "rebalance": {"count": 1, "groupGeneration": 3, "last": "2026-11-21T11:00:00.000Z"},
            **changes,
        }
    )  # fmt: skip


def failure(time: str = "2026-11-21T11:59:30.000Z", kind: str = "unauthorized", *, upload: bool = True) -> Document:
    return {
        "time": time, "topic": "clicks", "partition": 3, "start": 100, "end": 200, "kind": kind, "upload": upload,
        "message": "AccessDenied: check the keys of spec.storage.secretName",
    }  # fmt: skip
