"""What belongs to others stays as it is, and what is refused keeps only what needs it: on a real API server."""

import time

import pytest

from logpersister_operator.act.status_writer import StatusOutdatedError, StatusWriter
from logpersister_operator.cluster.client import ApiServer as Cluster
from logpersister_operator.metrics import Metrics
from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.operator_process import SPEC as LEAST
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource, connect
from tests.stack.kubernetes import ApiServer, Client
from tests.stack.kubernetes.client import Document

pytestmark = pytest.mark.usefixtures("crd")

SPEC = LEAST | {
    "networkPolicy": "Restricted",
    "spark": {"executors": 1},
}
_RBAC = "rbac.authorization.k8s.io/v1"
OTHERS: dict[str, Document] = {
    "networkpolicies": {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": {"podSelector": {}}},
    "poddisruptionbudgets": {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"minAvailable": 1}},
    "roles": {"apiVersion": _RBAC, "kind": "Role", "rules": []},
    "services": {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}},
}
LABELLED = ("networkpolicies", "services")
"""Their owners gave them the label of our children, too."""


def test_an_object_of_somebody_else_is_named_and_never_touched_and_its_name_is_taken_once_it_is_gone(
    api: Client, namespace: str, operator: OperatorProcess
) -> None:
    resources = {plural: Resource(api, namespace, f"of-{plural}", operator.tail) for plural in OTHERS}
    theirs: dict[str, tuple[str, Document]] = {}
    for plural, resource in resources.items():
        name = f"{resource.name}-{'member' if plural == 'roles' else 'members'}"
        labels = {"logpersister.dev/resource": resource.name} if plural in LABELLED else {}
        version = OTHERS[plural]["apiVersion"]
        path = f"/{'api' if version == 'v1' else 'apis'}/{version}/namespaces/{namespace}/{plural}"
        document = {**OTHERS[plural], "metadata": {"name": name, "namespace": namespace, "labels": labels}}
        theirs[plural] = f"{path}/{name}", api.create(path, document)
        resource.apply(SPEC)
    for plural, resource in resources.items():
        path, found = theirs[plural]
        told = resource.wait("Stalled", "True", "NameTaken")
        assert f"{found['kind']} {found['metadata']['name']} exists" in told["message"]
        assert resource.condition("Ready")["reason"] == "NameTaken"
        assert api.get(path) == found
    assert not resources["services"].stateful_sets()
    api.delete(theirs["services"][0])
    resources["services"].wait("Stalled", "False", "Progressing")
    resources["services"].wait_stateful_sets(1)
    for resource in resources.values():
        resource.delete()
    eventually("they go", lambda: not any(one.get() for one in resources.values()), explain=operator.tail)
    for plural in theirs:
        if plural != "services":
            assert api.get(theirs[plural][0]) == theirs[plural][1]


def test_what_an_operator_decided_from_an_older_version_undoes_no_newer_record(
    api_server: ApiServer, api: Client, namespace: str
) -> None:
    resource = Resource(api, namespace, "clicks", str)
    resource.apply(SPEC)
    before = resource.get()
    assert before is not None
    cluster = Cluster(connect(api_server.kubeconfig))
    leader, stale = (StatusWriter(cluster, Metrics(), time.monotonic) for _ in range(2))
    restart: Document = {"pod": "uid-1", "member": "clicks-0123456789ab-0", "time": "2026-11-21T12:00:00Z"}
    restart |= {"count": 1, "cause": "it hung"}
    record = {"observedGeneration": 1, "restarts": [restart]}
    leader.write(before, record)
    with pytest.raises(StatusOutdatedError):
        stale.write(before, {"observedGeneration": 1, "restarts": []})
    assert resource.status() == record
    assert leader.latest(before) == record, "a watch that is behind has not told of it yet"
    leader.write(before, {"observedGeneration": 1, "restarts": []})  # its own write is what it decided from
    resource.apply(SPEC | {"members": 2})
    now = resource.get()
    assert now is not None
    with pytest.raises(StatusOutdatedError):
        leader.write(before, record)
    leader.write(now, record)
