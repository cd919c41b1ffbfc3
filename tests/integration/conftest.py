"""Fixtures on real servers: one Kafka and one MinIO for the session, topics and buckets for each test."""

import gc
import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logpersister.kafka_client import patches
from tests.integration.harness.scene import Scene
from tests.integration.harness.verification import Verify, run_verify
from tests.stack import HiveMetastore, IcebergCatalog, Kafka, KafkaBroker, MinioServer, SchemaRegistry
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import create_topic

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_numbers = itertools.count(1)
_ABANDONED_SOCKETS = "ignore:unclosed <socket.socket:ResourceWarning"
"""kafka-python leaves a socket to the garbage collector when one of the tests' clients is closed while it connects."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)
            item.add_marker(pytest.mark.filterwarnings(_ABANDONED_SOCKETS))
    items.sort(key=lambda item: here in item.path.parents and _is_short(item.path))


def _is_short(file: Path) -> bool:
    """Whether all tests of a file are: they come last, so that workers end at about the same time."""
    return file.parent.name == "storage" or file.name.startswith("test_cli")


@pytest.fixture(scope="package", autouse=True)
def _abandoned_sockets_are_found_here() -> Iterator[None]:
    """The garbage collector must not find them in the tests of others, where they would be errors.

    Those of connections that fail are closed as in the product; clients of tests would keep dozens of them.
    """
    patches.close_failed()
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """The session's broker. A test that kills or freezes it must leave it serving."""
    properties = {"log.cleaner.backoff.ms": "200"}  # compacts at once
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), properties=properties) as broker:
        yield broker


@pytest.fixture(scope="session")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinioServer]:
    """The session's S3 server. A test that stops or freezes it must leave it serving."""
    with MinioServer(tmp_path_factory.mktemp("minio")) as server:
        yield server


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistry]:
    """The session's schema registry. A test that freezes it must wake it; killed, it would forget everything."""
    with SchemaRegistry(tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture(scope="session")
def iceberg(tmp_path_factory: pytest.TempPathFactory, minio: MinioServer, s3: "S3Client") -> Iterator[IcebergCatalog]:
    """The session's catalog of tables, whose metadata is in the bucket ``warehouse``."""
    s3.create_bucket(Bucket="warehouse")
    with IcebergCatalog(tmp_path_factory.mktemp("iceberg"), minio) as server:
        yield server


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory, minio: MinioServer) -> Iterator[HiveMetastore]:
    """The session's Hive metastore. Killed, it would forget everything."""
    with HiveMetastore(tmp_path_factory.mktemp("hive"), minio) as server:
        yield server


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> str:
    """A name of this test alone: valid for topics, groups and buckets."""
    test = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    return f"{test}-{next(_numbers)}"


@pytest.fixture
def topic(kafka: Kafka, unique: str) -> Callable[..., str]:
    """``topic(partitions=1, **configs)`` creates a topic and returns its name.

    Dots of configuration names are written as underscores: ``cleanup_policy="compact"``.
    """
    numbers = itertools.count(1)

    def create(partitions: int = 1, **configs: str | int) -> str:
        name = f"{unique}.{next(numbers)}"
        dotted = {key.replace("_", "."): str(value) for key, value in configs.items()}
        create_topic(kafka.bootstrap, name, partitions=partitions, configs=dotted)
        return name

    return create


@pytest.fixture(scope="session")
def s3(minio: MinioServer) -> "Iterator[S3Client]":
    """boto3's client of the session's S3 server."""
    client = minio.client()
    yield client
    client.close()


@pytest.fixture
def bucket(minio: MinioServer, s3: "S3Client", unique: str) -> Iterator[str]:
    """An empty bucket, which goes with the test."""
    s3.create_bucket(Bucket=unique)
    yield unique
    minio.drop(s3, unique)


@pytest.fixture
def s3_secret(minio: MinioServer, secrets_dir: Path) -> str:
    """The ``secretName`` under which a manifest finds the keys of the session's S3 server."""
    minio.write_secret(secrets_dir, "s3")
    return "s3"


@pytest.fixture
def scene(
    tmp_path: Path, kafka: Kafka, minio: MinioServer, s3: "S3Client", s3_secret: str, bucket: str, unique: str
) -> Iterator[Scene]:
    """A consumer group of this test alone, on the session's servers: its manifests, members and stored objects."""
    with Scene(tmp_path, kafka, s3, bucket=bucket, endpoint=minio.endpoint, group=unique) as opened:
        yield opened


@pytest.fixture
def verify(logging_as_before: None) -> Verify:
    """``verify(manifest, *options, code=0)`` runs `logpersister verify` and returns its document."""
    return run_verify


@pytest.fixture
def s3_proxy(minio: MinioServer) -> Iterator[FaultProxy]:
    """The session's S3 server, by way of a proxy that a test can tell to misbehave."""
    with FaultProxy(minio.port, http=True) as proxy:
        yield proxy


@pytest.fixture
def registry_proxy(registry: SchemaRegistry) -> Iterator[FaultProxy]:
    """The session's schema registry, by way of a proxy: who asks one that is stopped is told so at once."""
    with FaultProxy(registry.port) as proxy:
        yield proxy
