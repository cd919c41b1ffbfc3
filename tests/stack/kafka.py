"""A single-node Kafka (KRaft), on loopback unless told otherwise, with the listeners that security tests need."""

import base64
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from tests.stack import artifacts
from tests.stack.ports import LOOPBACK, free_port
from tests.stack.server import START_TIMEOUT, Server, ServerError
from tests.stack.tls import Certificates

_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

_DEFAULTS: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
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
    # A broker that was killed may register again only when its old session has ended: keep it short.
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "4000",
    # Tests and demos write records of the past: the default of 7 days must not delete them meanwhile.
    "log.retention.ms": "-1",
}

_SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_SCRAM_ITERATIONS = 4096


class KafkaBroker(Server):
    """A broker and controller in one process. Restarts keep ports and data.

    ``listeners`` adds any of ``SSL``, ``SASL_PLAINTEXT`` and ``SASL_SSL`` to the plain one; `address` gives their
    addresses. SASL listeners take ``users`` (name to password) by PLAIN and SCRAM, and unsigned tokens by
    OAUTHBEARER. SSL asks for a client certificate of ``certificates``; SASL_SSL does not. ``properties`` override
    or extend ``server.properties``.
    """

    name = "kafka"

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
    ) -> None:
        super().__init__(directory, port=port)
        self.host = host
        """Address that it listens on and tells clients."""
        self.heap = heap
        self.users = dict(users or {})
        self._properties = dict(properties or {})
        self._other_ports = {listener: free_port() for listener in ("CONTROLLER", *listeners)}
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

    def start(self, timeout: float = START_TIMEOUT) -> str:
        """Start, wait until it serves, return `bootstrap`."""
        self.launch()
        self.wait(timeout)
        return self.bootstrap

    def run_tool(self, main_class: str, *arguments: str, lines: str = "", timeout: float = 600) -> str:
        """Run one of Kafka's command line tools to its end and return what it printed; raise `ServerError`.

        ``lines`` are its standard input.
        """
        done = subprocess.run(
            [*self._java("-Xmx256m", "-XX:TieredStopAtLevel=1"), main_class, *arguments],
            input=lines,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            raise ServerError(f"{main_class} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def _command(self) -> Sequence[str]:
        configuration = self.directory / "server.properties"
        configuration.write_text("".join(f"{key}={value}\n" for key, value in self._configuration().items()))
        if not (self.directory / "data" / "meta.properties").exists():
            self._format(configuration)
        return [
            *self._java(f"-Xmx{self.heap}", f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION}"),
            "kafka.Kafka",
            str(configuration),
        ]

    def _format(self, configuration: Path) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        scram = [
            f"{mechanism}=[name={user},password={password},iterations={_SCRAM_ITERATIONS}]"
            for user, password in self.users.items()
            for mechanism in _SASL_MECHANISMS
            if mechanism.startswith("SCRAM")
        ]
        credentials = [argument for credential in scram for argument in ("--add-scram", credential)]
        self.run_tool(
            "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(configuration), *credentials
        )

    def _configuration(self) -> dict[str, str]:
        bound = ",".join(f"{listener}://{self.host}:{port}" for listener, port in self._ports.items())
        advertised = ",".join(entry for entry in bound.split(",") if not entry.startswith("CONTROLLER"))
        protocols = ",".join(f"{listener}:{_protocol(listener)}" for listener in self._ports)
        return {
            **_DEFAULTS,
            "controller.quorum.voters": f"1@{self.address('CONTROLLER')}",
            "listeners": bound,
            "advertised.listeners": advertised,
            "listener.security.protocol.map": protocols,
            "log.dirs": str(self.directory / "data"),
            **self._sasl(),
            **self._tls(),
            **self._properties,
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
        return [artifacts.java(), "-XX:+UseSerialGC", *options, "-cp", artifacts.kafka_classpath()]

    def _serves(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), timeout=1).close()
            with KafkaAdminClient(bootstrap_servers=self.bootstrap, bootstrap_timeout_ms=2000) as admin:
                return bool(admin.describe_cluster()["brokers"])
        except (OSError, KafkaError):
            return False


def _protocol(listener: str) -> str:
    return "PLAINTEXT" if listener == "CONTROLLER" else listener
