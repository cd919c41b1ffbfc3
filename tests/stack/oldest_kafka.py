"""The oldest brokers that are promised to work: three of Kafka 2.8, and the ZooKeeper that they need.

What they run is fetched by ``scripts/prepare.py soak``, which `make soak` does.
"""

import socket
from collections.abc import Mapping, Sequence

from tests.stack import artifacts
from tests.stack.kafka import LOG_CONFIGURATION, KafkaBroker
from tests.stack.kafka_cluster import NODES, KafkaCluster
from tests.stack.ports import LOOPBACK
from tests.stack.server import Server

_JARS = "oldest-kafka"
_SESSION_MS = "4000"


class OldestBroker(KafkaBroker):
    """One of them. KRaft was a preview then, so nobody's cluster of that release runs without ZooKeeper."""

    jars = _JARS

    def format(self) -> None:
        """Do nothing: it formats itself."""

    def format_like(self, first: KafkaBroker) -> None:
        """Do nothing: it formats itself."""

    def _roles(self) -> dict[str, str]:
        return {"broker.id": str(self.node)}


class ZooKeeper(Server):
    """One ZooKeeper. Restarts keep port and data."""

    name = "zookeeper"

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def _command(self) -> Sequence[str]:
        configuration = self.directory / "zookeeper.properties"
        configuration.write_text(
            f"dataDir={self.directory / 'data'}\nclientPort={self.port}\nclientPortAddress={LOOPBACK}\n"
            "tickTime=500\nadmin.enableServer=false\n"
        )
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx64m"]
        logs = f"-Dlog4j2.configurationFile={LOG_CONFIGURATION}"
        main_class = "org.apache.zookeeper.server.ZooKeeperServerMain"
        classpath = artifacts.kafka_classpath(_JARS)
        return [artifacts.java(), *options, logs, "-cp", classpath, main_class, str(configuration)]

    def _serves(self) -> bool:
        """Ask with ``srvr``, the one of its four-letter words that is allowed by default."""
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1) as connection:
                connection.sendall(b"srvr")
                return connection.recv(64).startswith(b"Zookeeper version")
        except OSError:
            return False


class OldestCluster(KafkaCluster):
    """Brokers 1 to 3 of the oldest release, used as any cluster. Nothing is done to their ZooKeeper."""

    def _brokers(self, properties: Mapping[str, str], heap: str) -> Sequence[KafkaBroker]:
        self._zookeeper = ZooKeeper(self.directory / "zookeeper")
        asked = {
            "zookeeper.connect": self._zookeeper.address,
            "zookeeper.session.timeout.ms": _SESSION_MS,
            "zookeeper.connection.timeout.ms": "60000",
        }
        return [self._broker(OldestBroker, node, {**asked, **properties}, heap) for node in NODES]

    @property
    def servers(self) -> Sequence[Server]:
        return [self._zookeeper, *self.brokers]
