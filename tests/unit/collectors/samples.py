"""FeedCollectors, what runs for them, and what their replicas say."""

import copy
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.collectors.actor import _parse
from logpersister_operator.collectors.observed import CollectorState
from logpersister_operator.observed_objects import Child, view
from logpersister_operator.observed_state import MemberReport

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
UID = "11111111-2222-3333-4444-555555555555"
IMAGE = "registry.example/logpersister:0.1.0"
NAME = "prices-collector"


def feed(name: str = "prices", **fields: Any) -> Document:
    return {"id": name, "url": f"https://shop.example.com/{name}.json", "periodicity": "5s", **fields}


def collector(*, generation: int = 1, **spec: Any) -> Document:
    """Return a resource as the API server has it; ``spec`` replaces sections."""
    kafka = {"bootstrapServers": "kafka:9092", "topic": "feeds"}
    return {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "FeedCollector",
        "metadata": {
            "name": "prices",
            "namespace": "shop",
            "uid": UID,
            "generation": generation,
            "resourceVersion": "100",
        },
        "spec": {"replicas": 2, "kafka": kafka, "feeds": [feed()]} | spec,
    }


def state(document: Document | None = None, children: Iterable[Document] = (), **known: Any) -> CollectorState:
    """Return what is observed; objects go through the views that observers make of them."""
    document = document or collector()
    found: dict[Reference, Child] = {one.reference: one for one in map(view, children)}
    return CollectorState(NOW, document, _parse(document), IMAGE, children=found, **known)


def running(
    wanted: Sequence[Document], *, ready: int = 2, updated: int | None = None, revision: str = ""
) -> list[Document]:
    """Return objects as they are once they run: ``ready`` replicas, ``updated`` of which have the present template."""
    made = copy.deepcopy(list(wanted))
    for number, one in enumerate(made):
        one["metadata"] |= {"uid": f"uid-{number}", "resourceVersion": str(number + 1), "generation": 2}
    stateful_set = made[-1]
    replicas = stateful_set["spec"]["replicas"]
    done = updated is None or updated >= replicas
    stateful_set["status"] = {
        "observedGeneration": 2,
        "readyReplicas": ready,
        "updatedReplicas": replicas if updated is None else updated,
        "currentRevision": "a",
        "updateRevision": "a" if done else "b",
    }
    labels = stateful_set["spec"]["template"]["metadata"]["labels"]
    labels |= {"logpersister.dev/revision": revision} if revision else {}
    return [*made, *(_pod(number, labels, is_ready=number < ready) for number in range(replicas))]


def _pod(number: int, labels: Document, *, is_ready: bool) -> Document:
    metadata = {"name": f"{NAME}-{number}", "namespace": "shop", "labels": labels, "uid": f"pod-{number}"}
    status = "True" if is_ready else "False"
    since = "2026-11-28T11:00:00Z"
    conditions = [{"type": "Ready", "status": status, "lastTransitionTime": since}]
    return {
        "kind": "Pod",
        "metadata": metadata | {"resourceVersion": "1"},
        "spec": {"nodeName": "one"},
        "status": {"conditions": conditions, "podIP": f"10.0.0.{number}"},
    }


def says(
    *, silent: Sequence[str] = (), failing: Sequence[str] = (), total: int = 10, away: str | None = None, **spool: Any
) -> MemberReport:
    """Return what a replica says; of many troubled feeds it names 20."""
    worst = [_worst(name, silent=True) for name in silent] + [_worst(name, silent=False) for name in failing]
    return MemberReport(
        {
            "feeds": {"total": total, "silent": len(silent), "failing": len(failing), "worst": worst[:20]},
            "kafka": {"away": away, "awaySince": "2026-11-28T11:55:00Z" if away else None},
            "spool": {"records": 0, "bytes": 0, "dropped": 0, "oldest": None} | spool,
        }
    )


def _worst(name: str, *, silent: bool) -> Document:
    reason = "nothing new" if silent else "the server answers 404"
    return {"id": name, "silent": silent, "newAt": "2026-11-28T10:00:00Z", "reason": reason}
