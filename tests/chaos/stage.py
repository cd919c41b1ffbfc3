"""Where it happens: brokers, an S3 server, a schema registry and a catalog behind proxies that lie, members' crews."""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import yaml

from tests.chaos.chronicle import Chronicle
from tests.chaos.compactor import Compactor
from tests.chaos.crew import Crew
from tests.chaos.goals import Happened
from tests.chaos.outputs import BUCKET, NO_EDITS, Addresses, Edits, Output
from tests.chaos.producer import RESTORED
from tests.chaos.readings import Readings
from tests.chaos.sales import Writers
from tests.chaos.settings import Settings
from tests.stack import HiveMetastore, IcebergCatalog, Kafka, KafkaBroker, KafkaCluster, MinioServer, SchemaRegistry
from tests.stack.fault_proxy import Fault, FaultProxy
from tests.stack.oldest_kafka import OldestCluster
from tests.stack.scratch import of_spark
from tests.stack.server import Server
from tests.stack.topics import create_topic

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_LATELY_SECONDS = 1.5
_PROPERTIES = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
_BALANCING = {
    # Leadership goes back to where it was soon after each restart, as it does within minutes in production.
    "leader.imbalance.check.interval.seconds": "20",
    "leader.imbalance.per.broker.percentage": "0",
}


@dataclass
class Stage:
    """Everything that a disturbance can reach."""

    settings: Settings
    directory: Path
    chronicle: Chronicle
    chance: random.Random = field(init=False)
    """For what is decided on the spot; what is planned has a source of its own, which timing cannot touch."""
    kafka: Kafka = field(init=False)
    minio: MinioServer = field(init=False)
    servers: dict[str, Server] = field(default_factory=dict)
    """Those beside the brokers, as disturbances call them: ``minio``, ``registry``, ``catalog`` or ``metastore``."""
    proxies: dict[str, FaultProxy] = field(default_factory=dict)
    """What members ask instead: ``s3``, ``registry``, ``catalog`` or ``metastore``."""
    s3: "S3Client" = field(init=False)
    """Past the proxy."""
    writers: Writers | None = None
    """What is registered, where there are rows."""
    readings: Readings | None = None
    """What was written of these, where there are any."""
    compactor: Compactor | None = None
    crew: Crew = field(init=False)
    manifests: dict[str, Path] = field(default_factory=dict)
    uploaded_at: float = 0.0
    """Monotonic seconds of the last request that put records into the bucket."""
    busy: set[str] = field(default_factory=set)
    """What is being disturbed: ``broker``, and servers, proxies and topics by their names."""
    counts: Counter[str] = field(default_factory=Counter)
    """Disturbances that began, by name."""
    partitions: Counter[str] = field(default_factory=Counter)
    """How many each topic has."""
    grown: dict[tuple[str, int], float] = field(default_factory=dict)
    """When a partition was added, by the clock."""
    edits: dict[str, Edits] = field(default_factory=dict)
    """By group: what was changed in its manifest."""
    replays: dict[int, Path] = field(default_factory=dict)
    """Manifests of replays of history, by their generations."""
    broken: list[str] = field(default_factory=list)
    """In which ways the promise was seen to be broken while members worked."""
    met: Counter[str] = field(default_factory=Counter)
    """Requests that met a fault, by the fault's name."""
    happened: Happened = field(default_factory=Happened)
    """What the run is for."""

    def __post_init__(self) -> None:
        self.chance = random.Random(f"stage {self.settings.seed}")
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._set_up()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _set_up(self) -> None:
        self._stack.enter_context(
            _environment(LOGPERSISTER_SECRETS_DIR=str(self.directory / "secrets"), **of_spark(self.directory / "spark"))
        )
        self.kafka = self._brokers()
        self._add_servers()
        for server in (self.kafka, *self.servers.values()):
            self._stack.callback(server.kill)
            server.launch()
        self.kafka.wait()
        for server in self.servers.values():
            server.wait()
        self.minio.write_secret(self.directory / "secrets", "s3")
        self.s3 = self.minio.client()
        self._stack.callback(self.s3.close)
        for bucket in (BUCKET, *(["warehouse"] if self.settings.has_iceberg else [])):
            self.s3.create_bucket(Bucket=bucket)
        for name, server in self.servers.items():
            proxy = FaultProxy(server.port, http=not isinstance(server, HiveMetastore))
            self.proxies["s3" if name == "minio" else name] = self._stack.enter_context(proxy)
        self.proxy.inject(Fault(matches=self._note_upload, times=None))
        for topic in self.settings.topics:
            replicas, configs = (1, {"min.insync.replicas": "1"}) if topic.is_lone else (None, None)
            create_topic(
                self.kafka.bootstrap, topic.name, partitions=topic.partitions, replicas=replicas, configs=configs
            )
            self.partitions[topic.name] = topic.partitions
        if self.settings.has_rows:
            self.writers = Writers(self.registry, only_added=self.settings.has_hive)
            self.readings = Readings(self.settings.choices)
        if self.settings.has_backup:
            self.busy |= set(RESTORED)  # a restore refuses a topic that has got partitions since the one before
        members = self.directory / "members"
        members.mkdir()
        self.crew = Crew(members, self.chronicle)
        self._stack.callback(self.crew.end)
        for output in self.settings.outputs:
            self._hire(output)
        if self.settings.has_iceberg:
            (tables,) = (list(output.tables) for output in self.settings.outputs if output.has_table)
            self.compactor = Compactor(
                self.directory, self.minio, self.catalog, self.settings.seed, tables, by_spark=self.settings.spark
            )
            self._stack.callback(self.compactor.kill)
            self.compactor.start()

    def _add_servers(self) -> None:
        self.minio = MinioServer(self.directory / "minio")
        self.servers["minio"] = self.minio
        if self.settings.has_rows:
            self.servers["registry"] = SchemaRegistry(self.directory / "registry")
        if self.settings.has_iceberg:
            self.servers["catalog"] = IcebergCatalog(self.directory / "catalog", self.minio)
        if self.settings.has_hive:
            self.servers["metastore"] = HiveMetastore(self.directory / "metastore", self.minio, durable=True)

    def _brokers(self) -> Kafka:
        place = self.directory / "kafka"
        if self.settings.brokers == 1:
            return KafkaBroker(place, properties=_PROPERTIES)
        kind = OldestCluster if self.settings.oldest else KafkaCluster
        return kind(place, properties={**_PROPERTIES, **_BALANCING})

    @property
    def proxy(self) -> FaultProxy:
        """What members ask instead of the S3 server."""
        return self.proxies["s3"]

    @property
    def registry(self) -> SchemaRegistry:
        found = self.servers["registry"]
        assert isinstance(found, SchemaRegistry)
        return found

    @property
    def catalog(self) -> IcebergCatalog:
        found = self.servers["catalog"]
        assert isinstance(found, IcebergCatalog)
        return found

    @property
    def metastore(self) -> HiveMetastore:
        found = self.servers["metastore"]
        assert isinstance(found, HiveMetastore)
        return found

    @property
    def cluster(self) -> KafkaCluster:
        """The brokers, for what is done to a cluster only."""
        assert isinstance(self.kafka, KafkaCluster)
        return self.kafka

    @property
    def brokers(self) -> Sequence[KafkaBroker]:
        return self.kafka.brokers if isinstance(self.kafka, KafkaCluster) else [self.kafka]

    def chosen_group(self, which: float) -> str:
        """Return one of the groups, by a number from 0 to 1."""
        groups = list(self.manifests)
        return groups[int(which * len(groups))]

    def _hire(self, output: Output) -> None:
        manifest = self.manifests[output.name] = self.directory / f"{output.name}.yaml"
        self._write_manifest(output)
        for number in range(1, self.settings.crews[output.name] + 1):
            self.crew.add(output.name, str(number), manifest)

    def is_corrected(self, name: str) -> bool:
        """Whether the manifest of a group is."""
        return self._edits_of(name).corrected

    def correct(self, output: Output) -> None:
        """Correct a manifest: processes that start from now on have it."""
        self.edits[output.name] = replace(self._edits_of(output.name), corrected=True)
        self._write_manifest(output)

    def pin(self, output: Output, version: int) -> None:
        """Name the version of the schema in a manifest: processes that start from now on have it."""
        self.edits[output.name] = replace(self._edits_of(output.name), version=version)
        self._write_manifest(output)

    def replayed(self, output: Output, generation: int) -> Path:
        """Return the manifest by which a group is stored again in a generation above its own."""
        file = self.directory / f"{output.name}-{generation}.yaml"
        self._write_manifest(output, replace(self._edits_of(output.name), generation=generation), file)
        return file

    def _edits_of(self, name: str) -> Edits:
        return self.edits.get(name, NO_EDITS)

    def _write_manifest(self, output: Output, edits: Edits | None = None, file: Path | None = None) -> None:
        proxies = self.proxies
        addresses = Addresses(
            self.kafka.bootstrap,
            self.proxy.endpoint,
            registry=f"{proxies['registry'].endpoint}{self.registry.path}" if "registry" in proxies else "",
            catalog=self._catalog_address(),
        )
        edits, file = edits or self._edits_of(output.name), file or self.manifests[output.name]
        document = output.manifest(addresses, session_seconds=self.settings.session_seconds, edits=edits)
        new = file.with_suffix(".new")
        new.write_text(yaml.safe_dump(document, sort_keys=False))
        new.replace(file)

    def _catalog_address(self) -> str:
        if "metastore" in self.proxies:
            return f"thrift://{self.proxies['metastore'].address}"
        return self.proxies["catalog"].endpoint if "catalog" in self.proxies else ""

    def _note_upload(self, line: str) -> bool:
        if is_upload(line):
            self.uploaded_at = time.monotonic()
        return False

    @property
    def is_uploading(self) -> bool:
        """Whether records are on their way into the bucket just now."""
        return time.monotonic() - self.uploaded_at < _LATELY_SECONDS

    def at_next_upload(self, uploads: str, seconds: float) -> bool:
        """Wait until records are put to a path with ``uploads`` in it; return whether some are within ``seconds``."""
        came = threading.Event()

        def watches(line: str) -> bool:
            if is_upload(line) and uploads in line:
                came.set()
            return False

        observer = Fault(matches=watches)
        self.proxy.inject(observer)
        try:
            return came.wait(seconds)
        finally:
            self.proxy.remove(observer)

    def calm(self) -> None:
        """Take back every fault; servers serve, nobody is frozen. Members may still be down."""
        for proxy in self.proxies.values():
            proxy.clear()
        self.kafka.recover()
        for server in self.servers.values():
            server.recover()


def is_upload(line: str) -> bool:
    """Whether a request line puts records, in one piece or in parts."""
    return line.startswith(("PUT ", "POST ")) and "_logpersister/" not in line


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
