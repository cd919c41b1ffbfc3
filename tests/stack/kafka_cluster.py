"""Three Kafka brokers that replicate everything: what a production cluster does when one of them is away.

Each is a broker and a controller (KRaft's combined mode), so any one of them may be stopped, killed or frozen.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from tests.stack.clients import admin_client
from tests.stack.kafka import KafkaBroker, brokers_in_service
from tests.stack.ports import free_port
from tests.stack.server import START_TIMEOUT, Launched, Server, ServerError

Value = TypeVar("Value")

HEAP = "224m"
_JVM = ("-Xss512k",)
"""Three brokers on a small machine: less memory."""
_ASK_MS = 3_000
_POLL = 0.2

NODES = range(1, 4)
_REPLICATED: Mapping[str, str] = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "log.cleaner.dedupe.buffer.size": "2097152",  # 128 MiB by default, of each broker's heap
    "num.network.threads": "2",
    "num.io.threads": "4",
    # A frozen follower holds up every commit until it is out of the set of replicas in sync.
    "replica.lag.time.max.ms": "4000",
    "replica.fetch.wait.max.ms": "200",
}


class KafkaCluster(Launched):
    """Brokers 1 to 3. Restarts keep ports and data. A context manager that starts all of them at once."""

    name = "kafka"

    def __init__(self, directory: Path, *, properties: Mapping[str, str] | None = None, heap: str = HEAP) -> None:
        self.directory = directory
        self.brokers = self._brokers({**_REPLICATED, **(properties or {})}, heap)

    def _brokers(self, properties: Mapping[str, str], heap: str) -> Sequence[KafkaBroker]:
        controllers = {node: free_port() for node in NODES}
        return [self._broker(KafkaBroker, node, properties, heap, controllers) for node in controllers]

    def _broker(
        self,
        kind: type[KafkaBroker],
        node: int,
        properties: Mapping[str, str],
        heap: str,
        controllers: Mapping[int, int] | None = None,
    ) -> KafkaBroker:
        broker = kind(
            self.directory / f"kafka-{node}",
            properties=properties,
            heap=heap,
            node=node,
            controllers=controllers,
            jvm=_JVM,
        )
        broker.name = f"kafka-{node}"
        return broker

    @property
    def servers(self) -> Sequence[Server]:
        """Every process, in the order in which they start."""
        return self.brokers

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, whether they run or not: what is in a manifest."""
        return ",".join(broker.bootstrap for broker in self.brokers)

    @property
    def reachable(self) -> str:
        """Addresses of those that should answer. kafka-python spends its patience on one that is frozen."""
        return ",".join(broker.bootstrap for broker in self.brokers if broker.alive and not broker.frozen)

    # all of them

    def launch(self) -> None:
        """Start all without waiting."""
        first, *others = self.brokers
        for other in others:
            other.format_like(first)
        for server in self.servers:
            server.launch()

    def wait(self, timeout: float = START_TIMEOUT) -> None:
        """Wait until all serve and all replicas are in sync."""
        for server in self.servers:
            server.wait(timeout)
        self.wait_healthy(timeout)

    def kill(self) -> None:
        for server in reversed(self.servers):
            server.kill()

    def roll(self, *, last: KafkaBroker | None = None) -> None:
        """Restart one broker after the other, each when the others have all that it has: a rolling upgrade."""
        for broker in sorted(self.brokers, key=lambda broker: broker is last):
            broker.restart()
            self.wait_healthy()

    def recover(self) -> None:
        """Wake and start whoever does not serve, and wait until all replicas are in sync."""
        for server in self.servers:
            server.revive()
        self.wait()

    def serves(self) -> bool:
        """Whether all brokers answer now and all replicas are in sync."""
        return all(server.serves() for server in self.servers) and not self.ailments()

    def run_tool(self, main_class: str, *arguments: str) -> str:
        """Run one of Kafka's command line tools, see `KafkaBroker.run_tool`."""
        return self.brokers[0].run_tool(main_class, *arguments)

    # how they are

    def wait_healthy(self, timeout: float = START_TIMEOUT) -> None:
        """Wait until every broker takes part and every replica is in sync."""
        _wait("the cluster is healthy", lambda: not self.ailments(), timeout, explain=self.ailments)

    def ailments(self) -> list[str]:
        """Return what is wrong with the cluster now, as brokers that serve see it."""
        if not self.reachable:
            return ["no broker runs"]
        try:
            away = {broker.node for broker in self.brokers} - brokers_in_service(self.reachable)
            found = [f"broker {node} is away" for node in sorted(away)]
            with self._admin() as admin:
                for topic in admin.describe_topics():
                    for partition in topic["partitions"]:
                        lacking = set(partition["replica_nodes"]) - set(partition["isr_nodes"])
                        if lacking or partition["leader_id"] < 0:
                            where = f"{topic['name']}-{partition['partition_index']}"
                            found.append(f"{where}: leader {partition['leader_id']}, not in sync {sorted(lacking)}")
        except KafkaError as error:
            return [repr(error)]
        return found

    def coordinator(self, group: str) -> KafkaBroker:
        """Return the broker that coordinates a group: the leader of its partition of ``__consumer_offsets``."""
        nodes = _wait(f"group {group} has a coordinator", lambda: self._coordinator_node(group))
        return next(broker for broker in self.brokers if broker.node in nodes)

    def wait_moved(self, group: str, away_from: KafkaBroker) -> KafkaBroker:
        """Wait until another broker coordinates a group than ``away_from``; return it."""
        _wait(
            f"group {group} is not coordinated by {away_from.name} any more",
            lambda: self._coordinator_node(group) - {away_from.node},
        )
        return self.coordinator(group)

    def _coordinator_node(self, group: str) -> set[int]:
        """Return the node that coordinates a group, if that can be told now."""
        if not self.reachable:
            return set()
        try:
            with self._admin() as admin:
                return {admin._manager.run(admin._find_coordinator_id, group)}
        except KafkaError:
            return set()

    @contextmanager
    def _admin(self) -> Iterator[KafkaAdminClient]:
        """Open a client that remembers no coordinator of earlier times."""
        with admin_client(self.reachable, bootstrap_timeout_ms=_ASK_MS, request_timeout_ms=_ASK_MS) as admin:
            yield admin


Kafka = KafkaBroker | KafkaCluster
"""What tests use when they do not care how many brokers there are."""


def _wait(
    what: str, ask: Callable[[], Value], timeout: float = START_TIMEOUT, *, explain: Callable[[], object] = lambda: ""
) -> Value:
    deadline = time.monotonic() + timeout
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise ServerError(f"{what}: not within {timeout:.0f} s; {explain()}")
        time.sleep(_POLL)
    return answer
