"""The operator as a process, on a real API server: what a user does, and what comes of it."""

import base64
import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.harness.scene import CreateTopic
from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.operator_process import IMAGE, SPEC, OperatorProcess, Resource
from tests.stack import KafkaBroker
from tests.stack.kubernetes import Client, Refused
from tests.stack.kubernetes.client import Document
from tests.unit.pages.html import read
from tests.unit.pages.test_site import facts, row

ZSTD = {"text": {"compression": "zstd"}}

pytestmark = pytest.mark.usefixtures("crd")


QUESTIONS = "logpersister_operator_lag_questions_total"
REFUSALS = "logpersister_operator_status_refusals_total"
RECONCILIATIONS = 'logpersister_operator_reconciles_total{outcome="done"}'


def spec(**sections: Any) -> dict[str, Any]:
    return copy.deepcopy(SPEC) | sections


def secret(api: Client, namespace: str, password: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/secrets/s3"
    data = {
        name: base64.b64encode(password.encode()).decode() for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    }
    metadata = {"name": "s3", "namespace": namespace}
    api.apply(path, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})


def test_the_life_of_a_resource(resource: Resource, operator: OperatorProcess) -> None:
    resource.apply(spec(members=2))
    (first,) = resource.wait_stateful_sets(1)
    resource.wait("Reconciling", "True", "StartingMembers")
    resource.get_ready(first)
    resource.wait("Ready", "True", "MembersReady")
    assert resource.status()["observedGeneration"] == 1
    assert resource.status()["summary"]["members"] == "2/2"
    assert resource.children("api/v1", "configmaps").keys() == {first}
    assert resource.children("apis/policy/v1", "poddisruptionbudgets").keys() == {"clicks-members"}

    resource.apply(spec(members=2, output=ZSTD))
    both = resource.wait_stateful_sets(2)
    (second,) = both.keys() - {first}
    assert (both[first]["spec"]["replicas"], both[second]["spec"]["replicas"]) == (2, 1), "a canary"
    resource.apply(spec(members=2, output=ZSTD), **{"logpersister.dev/promote": second[-12:]})

    def replaced() -> bool:
        for name in resource.stateful_sets():
            resource.get_ready(name)
        return resource.stateful_sets().keys() == {second}

    resource.eventually("the old members have left", replaced)
    resource.wait("Ready", "True", "MembersReady")
    resource.eventually("the old ConfigMap goes", lambda: len(resource.children("api/v1", "configmaps")) == 1)

    resource.apply(spec(members=3, output=ZSTD), **{"logpersister.dev/reconcile": "paused"})
    resource.wait("ReconciliationPaused", "True", "ReconciliationPaused")
    resource.apply(spec(members=2, output=ZSTD), **{"logpersister.dev/paused": "true"})
    resource.wait("Paused", "True", "Paused")
    assert resource.condition("ReconciliationPaused") == {}
    resource.eventually("no member", lambda: resource.stateful_sets()[second]["spec"]["replicas"] == 0)
    resource.apply(spec(members=2, output=ZSTD))
    resource.wait("Paused", "False", "Active")
    resource.eventually("members again", lambda: resource.stateful_sets()[second]["spec"]["replicas"] == 2)

    resource.delete()
    resource.eventually("it goes, finalizer and all", lambda: resource.get() is None)
    resource.wait_stateful_sets(0)
    assert operator.stop() == 0


def test_pods_that_are_refused_say_why(resource: Resource, api: Client, namespace: str) -> None:
    """In the words of the API server, as the controller of StatefulSets repeats them; until the pods are there."""
    resource.apply(spec(members=2))
    (name,) = resource.wait_stateful_sets(1)
    words = (
        f'create Pod {name}-0 in StatefulSet {name} failed error: pods "{name}-0" is forbidden: exceeded quota: small'
    )
    involved = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name, "namespace": namespace}
    involved["uid"] = resource.stateful_sets()[name]["metadata"]["uid"]
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "refused"}, "involvedObject": involved}
    event |= {"type": "Warning", "reason": "FailedCreate", "message": words, "lastTimestamp": "2026-11-21T12:00:00Z"}
    api.create(f"/api/v1/namespaces/{namespace}/events", event)
    assert words in resource.wait("Stalled", "True", "Refused")["message"]
    assert words in resource.condition("Ready")["message"]
    resource.get_ready(name)
    resource.wait("Ready", "True", "MembersReady")
    assert resource.condition("Stalled")["status"] == "False"


KINDS = [
    *(("api/v1", plural) for plural in ("configmaps", "services", "serviceaccounts")),
    *(("apis/apps/v1", "statefulsets"), ("apis/policy/v1", "poddisruptionbudgets")),
    ("apis/networking.k8s.io/v1", "networkpolicies"),
    *(("apis/rbac.authorization.k8s.io/v1", plural) for plural in ("roles", "rolebindings")),
]


def test_children_are_owned_and_repaired_and_of_the_resource_only_the_finalizer_is_written(
    resource: Resource, api: Client, namespace: str
) -> None:
    wanted = spec(networkPolicy="Restricted", spark={"executors": 1})
    resource.apply(wanted)
    (name,) = resource.wait_stateful_sets(1)
    found = resource.get() or {}
    assert found["spec"] == wanted
    assert found["metadata"]["finalizers"] == ["logpersister.dev/drain"]
    assert found["metadata"].keys().isdisjoint({"annotations", "labels"}), "no difference to what Git says"
    children = [child for group, plural in KINDS for child in resource.children(group, plural).values()]
    assert len(children) == 9
    assert {child["metadata"]["ownerReferences"][0]["uid"] for child in children} == {found["metadata"]["uid"]}
    assert {child["metadata"]["managedFields"][0]["manager"] for child in children} == {"logpersister-operator"}
    (container,) = resource.stateful_sets()[name]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == IMAGE

    path = f"/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}"
    changed = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name, "namespace": namespace}}
    api.apply(path, {**changed, "spec": {"replicas": 9}}, manager="somebody")
    resource.eventually("replicas as they were", lambda: resource.stateful_sets()[name]["spec"]["replicas"] == 1)
    api.delete(f"/api/v1/namespaces/{namespace}/services/clicks-members")
    resource.eventually("the Service is back", lambda: resource.children("api/v1", "services"))


def test_what_is_wrong_is_told_and_what_ran_goes_on(resource: Resource) -> None:
    resource.apply(spec(podTemplate={"spec": {"containers": [{"name": "member", "imagePullPolicy": "Perhaps"}]}}))
    assert "Perhaps" in resource.wait("Stalled", "True", "Refused")["message"]
    resource.apply(spec())
    resource.wait("Stalled", "False", "Progressing")
    before = resource.wait_stateful_sets(1)
    resource.apply(spec(output={"partitionBy": [{"date": {"granularity": "day", "timezone": "Mars/Olympus"}}]}))
    found = resource.wait("SpecValid", "False", "SpecInvalid")
    assert "Mars/Olympus" in found["message"]
    assert "continues with the last valid spec" in found["message"]
    assert resource.stateful_sets().keys() == before.keys()
    resource.wait("Stalled", "True", "SpecInvalid")
    assert {one["type"] for one in resource.wait_events("SpecInvalid")} == {"Warning"}
    resource.apply(spec())
    resource.wait("SpecValid", "True", "Valid")


def test_a_secret_that_comes_late_and_changes(resource: Resource, api: Client, namespace: str) -> None:
    storage = SPEC["storage"] | {"secretName": "s3"}
    resource.apply(spec(storage=storage))
    found = resource.wait("Stalled", "True", "SecretMissing")
    assert "Secret s3" in found["message"]
    assert not resource.stateful_sets()
    secret(api, namespace, "first")
    (name,) = resource.wait_stateful_sets(1)
    resource.wait("Stalled", "False", "Progressing")

    def digest() -> str:
        template: Document = resource.stateful_sets()[name]["spec"]["template"]
        return str(template["metadata"]["annotations"]["logpersister.dev/secrets-digest"])

    before = digest()
    secret(api, namespace, "second")
    resource.eventually("pods with the new Secret", lambda: digest() != before)
    assert resource.stateful_sets().keys() == {name}, "no new revision"


def test_what_was_deleted_while_no_operator_ran_is_drained_when_one_starts(
    resource: Resource, operator: OperatorProcess
) -> None:
    resource.apply(spec(members=2))
    resource.wait_stateful_sets(1)
    operator.kill()
    resource.delete()
    assert "deletionTimestamp" in (resource.get() or {})["metadata"], "the finalizer keeps it"
    operator.start()
    resource.eventually("it goes, finalizer and all", lambda: resource.get() is None)
    assert operator.events("drain.resumed")
    resource.wait_stateful_sets(0)


@contextmanager
def older_definition(api: Client, crd: Document) -> Iterator[None]:
    """Let the API server know a definition whose status has no summary, for the time of the block."""
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
    older = copy.deepcopy(crd)
    del older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["summary"]
    name, place = f"probe-{time.time_ns()}", "/apis/logpersister.dev/v1alpha1/namespaces/default/logpersisters"
    probe = {"apiVersion": "logpersister.dev/v1alpha1", "kind": "LogPersister", "metadata": {"name": name}}

    def knows_summary() -> bool:
        try:
            api.apply(f"{place}/{name}/status", {**probe, "status": {"summary": {"members": "0/1"}}}, dryRun="All")
        except Refused:
            return False
        return True

    api.create(place, {**probe, "spec": spec()})
    try:
        api.apply(path, older)
        eventually("the older definition is in force", lambda: not knows_summary())
        yield
    finally:
        api.apply(path, crd)
        eventually("the definition is in force", knows_summary)
        api.delete(f"{place}/{name}")


def test_an_operator_that_is_newer_than_the_definition_says_so(
    resource: Resource, api: Client, crd: Document, operator: OperatorProcess
) -> None:
    def told() -> list[Document]:
        return [one for one in resource.events() if one["reason"] == "StatusRefused"]

    with older_definition(api, crd):
        resource.apply(spec())
        resource.eventually("an Event", told)
        resource.eventually("further attempts", lambda: operator.metrics()[REFUSALS] > 1)
        assert len(told()) == 1, "only that it begins is told"
        assert "apply the CRD of the operator's version" in told()[0]["message"]
        assert not resource.stateful_sets(), "nothing is done that cannot be told"
    resource.wait_stateful_sets(1)
    resource.wait("Reconciling", "True", "StartingMembers")


def test_at_rest_nothing_is_written_though_kafka_is_asked_again_and_again(
    resource: Resource, operator: OperatorProcess, kafka: KafkaBroker, topic: CreateTopic
) -> None:
    resource.apply(spec(kafka={"bootstrapServers": kafka.bootstrap, "topics": [topic()]}))
    (name,) = resource.wait_stateful_sets(1)
    resource.get_ready(name)
    resource.wait("Ready", "True", "MembersReady")
    resource.wait("LagWithinTarget", "True", "WithinTarget")
    version, asked = (resource.get() or {})["metadata"]["resourceVersion"], operator.metrics()[QUESTIONS]
    eventually("some more answers", lambda: operator.metrics()[QUESTIONS] > asked + 3)
    done = operator.metrics()[RECONCILIATIONS]
    resource.touch_children()  # wakes the operator
    eventually("some more reconciliations", lambda: operator.metrics()[RECONCILIATIONS] > done)
    assert (resource.get() or {})["metadata"]["resourceVersion"] == version
    assert operator.metrics()['logpersister_operator_resources{condition="Ready",status="True"}'] == 1
    eventually("the liveness probe answers", lambda: operator.healthz() == 200)
    home, group = read(operator.page("/")), read(operator.page(f"/groups/{resource.namespace}/{resource.name}"))
    assert row(home, f"{resource.namespace}/{resource.name}", "All groups")["state"] == "MembersReady"
    assert row(group, "LagWithinTarget", "Conditions")["reason"] == "WithinTarget"
    assert facts(group)["Lag in records"] == "0"
    operator.kill()
    operator.start()
    resource.eventually(
        "a reconciliation after a new operator has asked", lambda: operator.metrics().get(RECONCILIATIONS, 0) > 1
    )
    assert (resource.get() or {})["metadata"]["resourceVersion"] == version, "that it is new is no news"


def test_a_broker_that_is_away_makes_the_lag_unknown_until_it_is_back(
    resource: Resource, tmp_path: Path, unique: str
) -> None:
    with KafkaBroker(tmp_path / "kafka") as broker:
        resource.apply(spec(kafka={"bootstrapServers": broker.bootstrap, "topicPattern": unique}))
        resource.eventually("the lag is known", lambda: resource.status().get("lag", {}).get("records") == 0)
        broker.stop()
        found = resource.wait("LagWithinTarget", "Unknown", "LagUnknown")
        assert broker.bootstrap in found["message"]
        assert "lag" not in resource.status()
        assert resource.status()["summary"]["lag"] == "Unknown"
        broker.restart()
        resource.eventually("the lag is known again", lambda: resource.status().get("lag", {}).get("records") == 0)
