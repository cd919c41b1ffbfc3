"""A Kafka broker (KRaft), on loopback unless told otherwise, with the listeners that security tests need.

It stands alone, or is one node of a cluster (`tests.stack.kafka_cluster`).
"""

import base64
import shutil
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka.errors import KafkaError

from tests.stack import artifacts
from tests.stack.clients import admin_client
from tests.stack.ports import LOOPBACK, free_port
from tests.stack.scratch import of_java
from tests.stack.server import START_TIMEOUT, Server, ServerError
from tests.stack.tls import Certificates

LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

_DEFAULTS: Mapping[str, str] = {
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",  # 50 would only make restarts slower
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    # Without it a controller at rest writes a record twice a second: a third of what a broker at rest costs.
    "metadata.max.idle.interval.ms": "5000",
    # A broker that was killed may register again only when its old session has ended: keep it short.
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "4000",
    # Tests and demos write records of the past: the default of 7 days must not delete them meanwhile.
    "log.retention.ms": "-1",
}

_SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_SCRAM_ITERATIONS = 4096


_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""A test's broker is young: what better code saves it does not last long enough to repay its compiling."""


class KafkaBroker(Server):
    """A broker and controller in one process. Restarts keep ports and data.

    ``listeners`` adds any of ``SSL``, ``SASL_PLAINTEXT`` and ``SASL_SSL`` to the plain one; `address` gives their
    addresses. SASL listeners take ``users`` (name to password) by PLAIN and SCRAM, and unsigned tokens by
    OAUTHBEARER. SSL asks for a client certificate of ``certificates``; SASL_SSL does not. ``properties`` override
    or extend ``server.properties``. ``controllers`` are the nodes of a cluster with the ports of their controllers,
    this one among them.
    """

    name = "kafka"
    jars = "kafka"
    """What it runs, see `artifacts.kafka_classpath`."""

    def __init__(
        self,
        directory: Path,
        *,
        port: int | None = None,
        host: str = LOOPBACK,
        properties: Mapping[str, str] | None = None,
        listeners: Sequence[str] = (),
        users: Mapping[str, str] | None = None,
        heap: str = "512m",
        node: int = 1,
        controllers: Mapping[int, int] | None = None,
        jvm: Sequence[str] = (),
    ) -> None:
        super().__init__(directory, port=port)
        self.node = node
        self.host = host
        """Address that it listens on and tells clients."""
        self.heap = heap
        self._jvm = tuple(jvm)
        self.users = dict(users or {})
        self._properties = dict(properties or {})
        self._controllers = dict(controllers or {node: free_port()})
        self._other_ports = {listener: free_port() for listener in listeners}
        self.certificates = Certificates(directory / "tls") if self._uses("SSL") else None

    @property
    def _ports(self) -> dict[str, int]:
        return {"PLAINTEXT": self.port, **self._other_ports}

    @property
    def bootstrap(self) -> str:
        """``host:port`` of the plain listener."""
        return self.address("PLAINTEXT")

    def address(self, listener: str) -> str:
        """``host:port`` of ``listener``: ``PLAINTEXT``, ``SSL``, ``SASL_PLAINTEXT`` or ``SASL_SSL``."""
        return f"{self.host}:{self._ports[listener]}"

    def format(self) -> None:
        """Make this the first node of a new cluster, unless it has been formatted before."""
        if self._is_formatted:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        bootstrap = artifacts.kafka_bootstrap(self.jars)
        if bootstrap.exists() and not self.users:  # as the tool would, without a JVM
            self._data.mkdir()
            shutil.copy(bootstrap, self._data)
            own = {"version": 1, "cluster.id": _random_id(), "node.id": self.node, "directory.id": _random_id()}
            self._properties_file.write_text("".join(f"{key}={value}\n" for key, value in own.items()))
            return
        scram = [
            f"{mechanism}=[name={user},password={password},iterations={_SCRAM_ITERATIONS}]"
            for user, password in self.users.items()
            for mechanism in _SASL_MECHANISMS
            if mechanism.startswith("SCRAM")
        ]
        credentials = [argument for credential in scram for argument in ("--add-scram", credential)]
        configuration = str(self._write_configuration())
        self.run_tool(
            "kafka.tools.StorageTool", "format", f"--cluster-id={_random_id()}", "-c", configuration, *credentials
        )

    def format_like(self, first: "KafkaBroker") -> None:
        """Make this one more node of the cluster of ``first``, which has not run yet, unless it was formatted before.

        It does what Kafka's tool would, without starting a JVM once more.
        """
        if self._is_formatted:
            return
        first.format()
        shutil.copytree(first._data, self._data)
        lines = (line.partition("=") for line in first._properties_file.read_text().splitlines())
        own = {"node.id": str(self.node), "directory.id": _random_id()}
        self._properties_file.write_text("".join(f"{key}{sign}{own.get(key, value)}\n" for key, sign, value in lines))

    def start(self, timeout: float = START_TIMEOUT) -> str:
        """Start, wait until it serves, return `bootstrap`."""
        self.launch()
        self.wait(timeout)
        return self.bootstrap

    def run_tool(self, main_class: str, *arguments: str) -> str:
        """Run one of Kafka's command line tools to its end and return what it printed; raise `ServerError`."""
        command = self.tool(main_class, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            raise ServerError(f"{main_class} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def tool(self, main_class: str, *arguments: str) -> list[str]:
        """Return the command of such a tool."""
        return [*self._java("-Xmx256m"), main_class, *arguments]

    def _command(self) -> Sequence[str]:
        self.format()
        options = [f"-Xmx{self.heap}", *self._jvm, f"-Dlog4j2.configurationFile={LOG_CONFIGURATION}"]
        return [*self._java(*options), "kafka.Kafka", str(self._write_configuration())]

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    @property
    def _properties_file(self) -> Path:
        return self._data / "meta.properties"

    @property
    def _is_formatted(self) -> bool:
        return self._properties_file.exists()

    def _write_configuration(self) -> Path:
        file = self.directory / "server.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in self._configuration().items()))
        return file

    def _configuration(self) -> dict[str, str]:
        bound = [f"{listener}://{self.host}:{port}" for listener, port in self._ports.items()]
        return {
            **_DEFAULTS,
            "listeners": ",".join(bound),
            "advertised.listeners": ",".join(bound),
            "listener.security.protocol.map": ",".join(f"{listener}:{listener}" for listener in self._ports),
            "log.dirs": str(self._data),
            **self._roles(),
            **self._sasl(),
            **self._tls(),
            **self._properties,
        }

    def _roles(self) -> dict[str, str]:
        """Return what makes it broker and controller at once, in addition to what a broker is told."""
        bound = [f"{listener}://{self.host}:{port}" for listener, port in self._ports.items()]
        own = f"CONTROLLER://{self.host}:{self._controllers[self.node]}"
        protocols = [f"{listener}:{listener}" for listener in self._ports]
        voters = (f"{node}@{self.host}:{port}" for node, port in self._controllers.items())
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": ",".join(voters),
            "listeners": ",".join([*bound, own]),
            "listener.security.protocol.map": ",".join([*protocols, "CONTROLLER:PLAINTEXT"]),
        }

    def _sasl(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for listener in (listener for listener in self._ports if listener.startswith("SASL")):
            prefix = f"listener.name.{listener.lower()}"
            found[f"{prefix}.sasl.enabled.mechanisms"] = ",".join(_SASL_MECHANISMS)
            for mechanism in _SASL_MECHANISMS:
                found[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = self._jaas(mechanism)
        return found

    def _jaas(self, mechanism: str) -> str:
        security = "org.apache.kafka.common.security"
        if mechanism == "PLAIN":
            users = " ".join(f'user_{user}="{password}"' for user, password in self.users.items())
            return f"{security}.plain.PlainLoginModule required {users};"
        if mechanism == "OAUTHBEARER":
            return f'{security}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
        return f"{security}.scram.ScramLoginModule required;"

    def _tls(self) -> dict[str, str]:
        if self.certificates is None:
            return {}
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.certificates.broker),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.certificates.authority),
            "listener.name.ssl.ssl.client.auth": "required",
        }

    def _uses(self, protocol: str) -> bool:
        return any(listener.endswith(protocol) for listener in self._ports)

    def _java(self, *options: str) -> list[str]:
        archive = artifacts.kafka_class_archive(self.jars)
        archived = [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []
        scratch = of_java(self.temporary)
        return [artifacts.java(), *_JVM, *archived, scratch, *options, "-cp", artifacts.kafka_classpath(self.jars)]

    def _serves(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), timeout=1).close()
            return self.node in brokers_in_service(self.bootstrap)
        except (OSError, KafkaError):
            return False


def brokers_in_service(bootstrap: str) -> set[int]:
    """Return the nodes that take part in their cluster, as one of them sees it; raises KafkaError.

    kafka-python's own question for this (``describe_cluster``) fails with brokers of 2.8.
    """
    with admin_client(bootstrap, bootstrap_timeout_ms=2_000) as admin:
        metadata = admin._manager.run(admin._get_cluster_metadata, [])
        return {broker["node_id"] for broker in metadata["brokers"]}


def _random_id() -> str:
    """Return an id as Kafka writes them."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
