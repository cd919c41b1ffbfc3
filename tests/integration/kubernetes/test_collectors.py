"""FeedCollectors on a real API server: what runs, what is told, and how it ends."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.integration.kubernetes.saying import answering
from tests.stack.kubernetes import Client, Refused
from tests.stack.kubernetes.client import Document
from tests.unit.collectors.samples import feed, says
from tests.unit.pages.html import read
from tests.unit.pages.test_site import facts, row

pytestmark = pytest.mark.usefixtures("crd")
NAME = "prices-collector"
SPEC: dict[str, Any] = {
    "replicas": 2,
    "kafka": {"bootstrapServers": "127.0.0.1:1", "topic": "feeds"},
    "feeds": [feed(), feed("weather")],
}
REPLICAS = {f"{NAME}-0": "127.0.2.1", f"{NAME}-1": "127.0.2.2"}


class Collector(Resource):
    """One FeedCollector, and its children."""

    kind, plural = "FeedCollector", "feedcollectors"

    @property
    def label(self) -> str:
        return f"feedcollector.{self.name}"


@pytest.fixture
def collector(api: Client, namespace: str, operator: OperatorProcess) -> Collector:
    return Collector(api, namespace, "prices", operator.tail)


@pytest.fixture
def replicas() -> Iterator[dict[str, Any]]:
    """What each replica says, by name; a test changes it."""
    said: dict[str, Any] = dict.fromkeys(REPLICAS, says(total=2))

    def of(name: str) -> Callable[[], Mapping[str, Any] | None]:
        return lambda: said[name].document

    with ExitStack() as stack:
        for name, address in REPLICAS.items():
            stack.enter_context(answering(address, of(name)))
        yield said


def start(api: Client, collector: Collector) -> None:
    """Make the pods that the StatefulSet wants, and let it tell so."""
    (owner,) = collector.wait_stateful_sets(1).values()
    template = owner["spec"]["template"]
    for name, address in REPLICAS.items():
        path = f"/api/v1/namespaces/{collector.namespace}/pods/{name}"
        metadata = {"name": name, "namespace": collector.namespace, "labels": template["metadata"]["labels"]}
        pod: Document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        containers = [{"name": "collector", "image": "x"}]
        api.apply(path, pod | {"spec": {"serviceAccountName": NAME, "containers": containers}})
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-28T11:00:00Z"}
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [ready]}
        api.apply(f"{path}/status", pod | {"status": status}, manager="kubelet")
    collector.get_ready(NAME)


def test_the_life_of_a_collector(
    api: Client, collector: Collector, operator: OperatorProcess, replicas: dict[str, Any]
) -> None:
    collector.apply(SPEC)
    start(api, collector)
    collector.wait("Ready", "True", "ReplicasReady")
    collector.wait("FeedsSpeaking", "True", "FeedsSpeak")
    plurals = {"serviceaccounts": "api/v1", "services": "api/v1", "poddisruptionbudgets": "apis/policy/v1"}
    assert all(list(collector.children(group, plural)) == [NAME] for plural, group in plurals.items())

    replicas[f"{NAME}-0"] = says(total=2, silent=["weather"])
    collector.eventually("a replica says so", lambda: (collector.status().get("feeds") or {}).get("worst"))
    assert collector.condition("FeedsSpeaking")["status"] == "True", "the other replica got something new"
    replicas[f"{NAME}-1"] = says(total=2, silent=["weather"], away="kafka:9092: refused")
    told = collector.wait("FeedsSpeaking", "False", "FeedsSilent")
    assert told["message"] == "1 of 2 feeds give nothing new: weather (nothing new)"
    collector.wait("KafkaReachable", "False", "KafkaAway")
    collector.wait_events("FeedsSilent")
    where = f'resource_name="prices",resource_namespace="{collector.namespace}"'
    labels = ['resource_kind="FeedCollector"', where, 'status="False"', 'type="FeedsSpeaking"']
    collector.eventually(
        "its metric says so", lambda: any(all(label in name for label in labels) for name in operator.metrics())
    )
    shown = row(read(operator.page("/")), f"{collector.namespace}/prices", "Feed collectors")
    assert (shown["state"], shown["silent"], shown["replicas"]) == ("Kafka is away", "1", "2/2")
    page = read(operator.page(f"/collectors/{collector.namespace}/prices"))
    assert facts(page)["Kafka"] == "away from 1 of 2 replicas"
    assert row(page, "KafkaReachable", "Conditions")["reason"] == "KafkaAway"

    (before,) = collector.children("api/v1", "configmaps")
    collector.apply(SPEC | {"feeds": [feed(), feed()]})
    collector.wait("SpecValid", "False", "SpecInvalid")
    collector.apply(SPEC | {"feeds": [feed(), feed("other")]})
    collector.wait("Reconciling", "True", "RollingOut")
    assert len(collector.children("api/v1", "configmaps")) == 2, "pods read the one before"
    start(api, collector)
    collector.wait("Ready", "True", "ReplicasReady")
    collector.eventually("it goes", lambda: before not in collector.children("api/v1", "configmaps"))

    collector.delete()
    collector.eventually("no more pods come", lambda: not collector.stateful_sets())
    assert collector.get() is not None, "it waits for replicas that send what they have"
    for name in REPLICAS:
        api.delete(f"/api/v1/namespaces/{collector.namespace}/pods/{name}", gracePeriodSeconds="0")
    collector.eventually("it is gone", lambda: collector.get() is None)


def test_what_the_api_server_refuses(collector: Collector) -> None:
    def refused(**sections: Any) -> str:
        with pytest.raises(Refused) as caught:
            collector.apply(SPEC | sections)
        return str(caught.value)

    assert "spec.feeds[0].id" in refused(feeds=[feed("a b")])
    assert "spec.feeds[0].periodicity" in refused(feeds=[feed() | {"periodicity": "often"}])
    assert "is not a size within" in refused(spool={"maxBytes": "1"})
    assert "spec.replicas" in refused(replicas=21)
    claimed = {"volumeClaim": {"size": "2Gi"}}
    collector.apply(SPEC | {"spool": claimed})
    (found,) = collector.wait_stateful_sets(1).values()
    assert found["spec"]["volumeClaimTemplates"][0]["spec"]["resources"] == {"requests": {"storage": "2Gi"}}
    assert "a volume stays as it was made" in refused()
    assert "a volume stays as it was made" in refused(spool={"volumeClaim": {"size": "3Gi"}})
    collector.apply(SPEC | {"replicas": 3, "spool": claimed | {"whenFull": "dropNewest"}})
    collector.eventually("more replicas", lambda: collector.stateful_sets()[NAME]["spec"]["replicas"] == 3)


def test_a_secret_that_is_missing_is_awaited_and_a_logpersister_of_that_name_is_another_matter(
    api: Client, collector: Collector, resource: Resource
) -> None:
    collector.apply(SPEC | {"feeds": [feed(headers={"Authorization": "${secret:shop/token}"})]})
    told = collector.wait("Ready", "False", "SecretMissing")
    assert "Secret shop" in told["message"]
    assert not collector.stateful_sets()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop"}, "stringData": {"token": "t"}}
    api.create(f"/api/v1/namespaces/{collector.namespace}/secrets", secret)
    assert list(collector.wait_stateful_sets(1)) == [NAME]
    resource.name = collector.name
    resource.path = resource.path.replace("/clicks", f"/{collector.name}")
    resource.apply(
        {
            "kafka": {"bootstrapServers": "127.0.0.1:1", "topics": ["clicks"]},
            "storage": {"bucket": "logs", "prefix": "raw", "region": "eu-west-1"},
        }
    )
    resource.wait_stateful_sets(1)
    assert list(collector.stateful_sets()) == [NAME]
    resource.delete()
    resource.eventually("it is gone", lambda: resource.get() is None)
    assert list(collector.stateful_sets()) == [NAME]
