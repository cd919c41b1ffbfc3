"""A FeedCollector on a real node: feeds go on while the node is drained and while a replica is killed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.kubectl import Kubectl, KubectlError
from tests.cluster.persister import Persister, ready
from tests.stack import KafkaBroker
from tests.stack.feed_server import FeedServer, feeds
from tests.stack.topics import create_topic, read_all

TOPIC = "collected"
COMPONENT = "app.kubernetes.io/component=collector"
EVICTION_SECONDS = 10
"""How long a drain is tried: the last replica may not be evicted."""


class Collector(Persister):
    """A FeedCollector."""

    kind = "FeedCollector"

    def pods(self, component: str = COMPONENT) -> dict[str, Any]:
        return super().pods(component)

    def ready_pods(self) -> dict[str, Any]:
        return {name: pod for name, pod in self.pods().items() if ready(pod)}

    def drain_but_for_a_replica(self) -> None:
        """Cordon the node and evict what may go; a PodDisruptionBudget keeps one of two replicas."""
        (node,) = {pod["spec"]["nodeName"] for pod in self.pods().values()}
        selector = f"logpersister.dev/resource={self.label},{COMPONENT}"
        options = ("--delete-emptydir-data", f"--timeout={EVICTION_SECONDS}s")
        with pytest.raises(KubectlError, match="disruption budget"):
            self.kubectl("drain", node, "--ignore-daemonsets", f"--pod-selector={selector}", *options)

    def uncordon(self) -> None:
        for node in self.kubectl.list("nodes"):
            self.kubectl("uncordon", node["metadata"]["name"])


@pytest.fixture
def server(host: str) -> Iterator[FeedServer]:
    with feeds(host=host) as found:
        yield found


@pytest.fixture
def collector(kubectl: Kubectl, kafka: KafkaBroker, server: FeedServer, tmp_path: Path) -> Iterator[Collector]:
    create_topic(kafka.bootstrap, TOPIC, partitions=2)
    polled = [
        {"id": kind, "url": f"{server.url}/{kind}/1", "periodicity": "1s", "silentAfter": "5s"}
        for kind in ("changing", "gone")
    ]
    spec = {
        "kafka": {"bootstrapServers": kafka.bootstrap, "topic": TOPIC},
        "feeds": polled,
        "replicas": 2,
        "shutdownGrace": "5s",
        "podTemplate": {"spec": {"containers": [{"name": "collector", "resources": {"requests": {"cpu": "50m"}}}]}},
    }
    found = Collector(kubectl, "prices", spec, TOPIC, tmp_path)
    found.apply()
    yield found
    found.group.close()


@pytest.mark.alone
def test_feeds_go_on_while_the_node_is_drained_and_a_replica_is_killed(
    collector: Collector, kafka: KafkaBroker, server: FeedServer
) -> None:
    def collected() -> set[bytes | None]:
        records = [one for partition in read_all(kafka.bootstrap, TOPIC).values() for one in partition]
        return {record.value for record in records if record.key == b"changing"}

    def wait_more(what: str) -> None:
        before = len(collected())
        collector.eventually(f"more contents {what}", lambda: len(collected()) >= before + 3)

    collector.wait("Ready", "True", "ReplicasReady")
    assert "gone" in collector.wait("FeedsSpeaking", "False", "FeedsSilent")["message"]
    first = collector.ready_pods()
    assert len(first) == 2
    try:
        collector.drain_but_for_a_replica()
        assert len(collector.ready_pods()) == 1
        wait_more("while the node is drained")
    finally:
        collector.uncordon()
    collector.eventually("both replicas again", lambda: len(collector.ready_pods()) == 2)
    collector.wait("Ready", "True", "ReplicasReady")

    killed, *_ = collector.ready_pods()
    collector.kubectl("delete", "pod", killed, "--grace-period=0", "--force", "--wait=false")
    wait_more("while a replica is away")

    collector.delete()
    assert not collector.pods()
    served = server.served["/changing/1"].keys()
    late = sorted(served, key=lambda one: server.served["/changing/1"][one])[-1:]
    assert served - collected() <= set(late), "each content is stored, but for one that nobody took as a whole"
