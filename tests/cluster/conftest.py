"""Fixtures on a real cluster: the operator installed by its chart, Kafka and S3 that pods reach, a namespace per test.

`make test-cluster` collects these tests; `make test` has no cluster, and does not.
"""

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.chart.helm import CHART, helm
from tests.cluster.environment import HOST, MEMBER_IMAGE, OPERATOR_IMAGE, started_by_us
from tests.cluster.kubectl import Kubectl
from tests.cluster.persister import Persister
from tests.integration.harness.verification import Verify, verify_with
from tests.integration.harness.workload import Workload
from tests.stack import KafkaBroker, MinioServer
from tests.stack.fault_proxy import FaultProxy

OPERATOR_NAMESPACE = "logpersister-system"
_SECONDS = 900
_numbers = itertools.count(1)

collect_ignore_glob = [] if started_by_us() else ["test_*.py"]


class MakePersister(Protocol):
    """Applies a resource: topics, the sections of its spec that are not as usual."""

    def __call__(self, *topics: str, **sections: Any) -> Persister: ...


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="session")
def host() -> str:
    return os.environ[HOST]


@pytest.fixture(scope="session")
def _servers(tmp_path_factory: pytest.TempPathFactory, host: str) -> Iterator[tuple[KafkaBroker, MinioServer]]:
    directory = tmp_path_factory.mktemp("stack")
    kafka, minio = KafkaBroker(directory / "kafka", host=host), MinioServer(directory / "minio", host=host)
    kafka.launch()
    minio.launch()
    try:
        kafka.wait()
        minio.wait()
        yield kafka, minio
    finally:
        kafka.kill()
        minio.kill()


@pytest.fixture(scope="session")
def kafka(_servers: tuple[KafkaBroker, MinioServer]) -> KafkaBroker:
    return _servers[0]


@pytest.fixture(scope="session")
def minio(_servers: tuple[KafkaBroker, MinioServer]) -> MinioServer:
    return _servers[1]


@pytest.fixture(scope="session", autouse=True)
def operator() -> Kubectl:
    """The operator, installed by its chart; kubectl in its namespace.

    It stays, as the node does, so that a second run of the tests begins sooner.
    """
    values = {
        "image": {"operator": os.environ[OPERATOR_IMAGE], "member": os.environ[MEMBER_IMAGE]},
        "settings": {"lagSeconds": 2, "reportSeconds": 2, "secretSeconds": 5},
    }
    names = ["logpersister", str(CHART), "--namespace", OPERATOR_NAMESPACE, "--create-namespace"]
    environment = {"KUBECONFIG": os.environ["KUBECONFIG"]}
    helm("upgrade", "--install", *names, "--wait", "--timeout=100s", values=values, environment=environment)
    return Kubectl(OPERATOR_NAMESPACE)


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> str:
    """A name that no other test has: of the namespace, the bucket, the resource."""
    readable = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:40].strip("-")
    return f"{readable}-{next(_numbers)}"


@pytest.fixture
def kubectl(unique: str, minio: MinioServer) -> Iterator[Kubectl]:
    """kubectl in a namespace of this test, where only pods of the *restricted* standard may run."""
    kubectl = Kubectl(unique)
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique, "labels": label}})
    write_secret(kubectl, minio.access_key, minio.secret_key)
    yield kubectl
    kubectl("delete", "logpersisters", "--all")
    kubectl("delete", "namespace", unique)


def write_secret(kubectl: Kubectl, access_key: str, secret_key: str, name: str = "s3") -> None:
    """Write the Secret that resources name."""
    data = {"AWS_ACCESS_KEY_ID": access_key, "AWS_SECRET_ACCESS_KEY": secret_key}
    kubectl.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})


@pytest.fixture
def s3(minio: MinioServer, host: str) -> Iterator[FaultProxy]:
    """What members know as S3: a proxy before MinIO that can be told to refuse."""
    with FaultProxy(minio.port, host=host, listen=host, http=True) as proxy:
        yield proxy


@pytest.fixture
def workload(kafka: KafkaBroker) -> Workload:
    return Workload(kafka.bootstrap)


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    return verify_with(capsys)


@pytest.fixture
def make_persister(
    kubectl: Kubectl,
    kafka: KafkaBroker,
    minio: MinioServer,
    s3: FaultProxy,
    secrets_dir: Path,
    tmp_path: Path,
    unique: str,
) -> MakePersister:
    """Return what applies a resource over topics, with a bucket of its own."""
    minio.write_secret(secrets_dir)

    def make(*topics: str, **sections: Any) -> Persister:
        client = minio.client()
        client.create_bucket(Bucket=unique)
        client.close()
        spec = {
            "kafka": {"bootstrapServers": kafka.bootstrap, "topics": list(topics), "sessionTimeout": "10s"},
            "storage": {"bucket": unique, "endpoint": s3.endpoint, "region": minio.region, "secretName": "s3"},
            "upload": {"maxBytes": "1Mi", "maxAge": "3s"},
            "cycleInterval": "500ms",
            "shutdownGrace": "5s",
        }
        persister = Persister(kubectl, "persister", spec, tmp_path)
        persister.apply(**sections)
        return persister

    return make
