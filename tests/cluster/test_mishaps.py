"""What goes wrong in a cluster, one after another, to one resource: it recovers, and nothing is lost or doubled."""

import os
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from tests.cluster.conftest import PARTITIONS, RELEASE, MakePersister, install, release, unharmed, write_secret
from tests.cluster.environment import OPERATOR_NAMESPACE, OWN_NODE
from tests.cluster.kubectl import Document, Kubectl
from tests.cluster.node import Node
from tests.cluster.persister import Persister, ready, waits_for_a_node
from tests.integration.harness.workload import Workload
from tests.stack import KafkaBroker, MinioServer
from tests.stack.fault_proxy import Answer, FaultProxy

TOPIC = "mishaps"
_RECORDS = 500
_OPERATOR = "app.kubernetes.io/name=logpersister-operator"


@pytest.fixture(scope="module")
def _resource(make_persister: MakePersister) -> Persister:
    return make_persister("mishaps", TOPIC)


@pytest.fixture
def persister(_resource: Persister) -> Iterator[Persister]:
    """The resource, well before the test and after it."""
    with unharmed(_resource):
        yield _resource


def write(workload: Workload) -> None:
    workload.write(TOPIC, _RECORDS, partitions=PARTITIONS, size=100)


def test_a_member_is_deleted(persister: Persister, workload: Workload) -> None:
    (before,) = persister.pods().values()
    with workload.running(TOPIC, PARTITIONS, per_second=50):
        persister.kubectl.delete("pod", before["metadata"]["name"], "--grace-period=0", "--force", "--wait=false")
        persister.eventually("another member", lambda: _ready_but(persister, before["metadata"]["uid"]))


@pytest.mark.soak
@pytest.mark.alone
def test_the_operator_is_deleted_while_it_reconciles(persister: Persister, workload: Workload) -> None:
    system = Kubectl(OPERATOR_NAMESPACE)
    with workload.running(TOPIC, PARTITIONS, per_second=50):
        persister.apply(output={"text": {"compression": "zstd"}})
        persister.wait("Reconciling", "True")
        system("delete", "pods", "--selector", _OPERATOR, "--grace-period=0", "--force")
        persister.eventually("only the new revision runs", lambda: _reconciled(persister))


@pytest.mark.soak
def test_the_storage_refuses(persister: Persister, workload: Workload, s3: FaultProxy) -> None:
    members = persister.restarts()
    write(workload)
    persister.wait_stored()  # so the documents that come before a range are in the bucket
    refusal = Answer(status=403, code="AccessDenied", message="not today", times=None)
    s3.inject(refusal)
    try:
        write(workload)
        persister.wait("UploadsSucceeding", "False", "Unauthorized")
        # A document of the member's own may be refused before a range, and its key names the topic, too.
        persister.eventually("a range's failure is told", lambda: _failure(persister).get("topic") == TOPIC)
        assert persister.condition("Ready")["status"] == "True", "restarting members would not help"
        assert "not today" in _failure(persister)["message"]
        assert f"{TOPIC} partition" in persister.condition("UploadsSucceeding")["message"]
    finally:
        s3.remove(refusal)
    persister.wait_stored()
    assert persister.restarts() == members


@pytest.mark.soak
def test_a_wrong_secret(persister: Persister, workload: Workload) -> None:
    before = persister.restarts()
    write_secret(persister.kubectl, "wrong")
    try:
        write(workload)
        persister.wait("Ready", "False")
        persister.eventually("members have the new keys", lambda: persister.restarts().keys() != before.keys())
        crashing = persister.wait("Stalled", "True", "MemberCrashing")
        assert "correct AWS_SECRET_ACCESS_KEY in the Secret of spec.storage.secretName" in crashing["message"]
    finally:
        write_secret(persister.kubectl, MinioServer.secret_key)
    persister.wait_stored()


@pytest.mark.alone
@pytest.mark.skipif(OWN_NODE not in os.environ, reason="the kubelet of another's cluster is not ours to stop")
def test_the_kubelet_is_restarted(persister: Persister, workload: Workload) -> None:
    node, members = Node(), persister.restarts()
    with workload.running(TOPIC, PARTITIONS, per_second=50):
        node.kubelet.kill()
        before = persister.group.committed(TOPIC)
        persister.eventually("members go on without it", lambda: _ahead(persister, before))
        last = _heartbeat()
        node.kubelet.start()
        persister.eventually("it reports again", lambda: _heartbeat() != last)
        node.wait_ready()
    persister.wait("Ready", "True", "MembersReady")
    assert persister.restarts() == members


@pytest.mark.alone
def test_the_release_is_uninstalled_and_installed_again(persister: Persister, workload: Workload) -> None:
    members = persister.restarts()
    with workload.running(TOPIC, PARTITIONS, per_second=50):
        release("uninstall", RELEASE)
        assert not persister.metadata().get("finalizers"), "nobody would take them off"
        assert not Kubectl(OPERATOR_NAMESPACE).list("pods,jobs,deployments"), "nothing of it is left"
        before = persister.group.committed(TOPIC)
        persister.eventually("members go on without it", lambda: _ahead(persister, before))
        install()
        persister.eventually("it is looked after again", lambda: persister.metadata().get("finalizers"))
    persister.wait("Ready", "True", "MembersReady")
    assert persister.restarts() == members, "they are taken over"


@pytest.mark.alone
def test_the_node_is_drained_while_no_member_is_ready(persister: Persister, kafka: KafkaBroker) -> None:
    """Of two, a budget that counts those that are not ready lets none go."""
    persister.apply(members=2)
    persister.eventually("two members", lambda: len(persister.pods()) == 2)
    first = persister.restarts().keys()
    kafka.suspend()
    try:
        persister.kubectl("delete", "pods", *persister.pods(), "--grace-period=0", "--force")
        persister.eventually("two others run", lambda: len(_running(persister, first)) == 2)
        second = _running(persister, first)
        assert not any(map(ready, second.values())), "they wait for the brokers"
        nodes = {pod["spec"]["nodeName"] for pod in second.values()}
        try:
            persister.drain(nodes)
            assert not persister.restarts().keys() & second.keys()
            persister.eventually("all wait for a node", lambda: all(map(waits_for_a_node, persister.pods().values())))
        finally:
            persister.kubectl("uncordon", *nodes)
    finally:
        kafka.resume()


def _running(persister: Persister, before: Collection[str]) -> dict[str, Document]:
    """Return the members that run and were not there before, by the uid of their pod."""
    pods = {pod["metadata"]["uid"]: pod for pod in persister.pods().values()}
    return {uid: pod for uid, pod in pods.items() if uid not in before and pod["status"]["phase"] == "Running"}


def _ready_but(persister: Persister, uid: str) -> bool:
    return any(pod["metadata"]["uid"] != uid and ready(pod) for pod in persister.pods().values())


def _reconciled(persister: Persister) -> bool:
    selector = f"logpersister.dev/resource={persister.name}"
    found = persister.kubectl.get("logpersister", persister.name) or {}
    current = persister.condition("Ready").get("observedGeneration") == found["metadata"]["generation"]
    return current and len(persister.kubectl.list("statefulsets", selector)) == 1


def _heartbeat() -> str:
    """Return when the kubelet was heard of last."""
    (lease,) = Kubectl("kube-node-lease").list("leases")
    renewed: str = lease["spec"]["renewTime"]
    return renewed


def _ahead(persister: Persister, before: Any) -> bool:
    now = persister.group.committed(TOPIC)
    return all(now[number].offset > entry.offset for number, entry in before.items())


def _failure(persister: Persister) -> dict[str, Any]:
    """Return the last failure in the status; empty when none is told."""
    failure: dict[str, Any] = persister.status().get("uploads", {}).get("lastFailure", {})
    return failure
