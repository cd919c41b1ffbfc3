"""Fixtures on a real cluster: the operator installed by its chart, Kafka and S3 that pods reach, a namespace per test.

`make test-cluster` collects these tests; `make test` has no cluster, and does not.
"""

import gc
import os
import secrets
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.chart.helm import CHART, HelmError, helm
from tests.cluster.environment import (
    HOST,
    MEMBER_IMAGE,
    OPERATOR_IMAGE,
    OPERATOR_NAMESPACE,
    PATIENCE_SECONDS,
    started_by_us,
)
from tests.cluster.explanation import explain
from tests.cluster.kubectl import Kubectl
from tests.cluster.lanes import lane
from tests.cluster.persister import Persister
from tests.integration.harness.verification import Verify, run_verify
from tests.integration.harness.workload import Workload
from tests.stack import KafkaBroker, MinioServer
from tests.stack.fault_proxy import FaultProxy
from tests.stack.topics import create_topic

_SECONDS = 4 * PATIENCE_SECONDS
"""Of a whole test: more than what it waits for, so that a wait that fails can say why."""
RELEASE = "logpersister"
_PROMPT = {"lagSeconds": 2, "reportSeconds": 2, "secretSeconds": 5}
"""Settings of an operator that looks often."""
_ABANDONED_SOCKETS = "ignore:unclosed <socket.socket:ResourceWarning"
"""kafka-python leaves a socket to the garbage collector when one of the tests' clients is closed while it connects."""
PARTITIONS = range(4)
"""Of every topic."""
_SMALL = {"resources": {"requests": {"cpu": "100m"}}}
"""So that all pods of a test find room on two cores that have more to do."""
SMALL_MEMBER = {"spec": {"containers": [{"name": "member", **_SMALL}]}}
SMALL_EXECUTOR = {
    "spec": {
        "containers": [{"name": "executor", **_SMALL}],
        "terminationGracePeriodSeconds": 300,  # what is begun is ended, on however slow a machine
    }
}

collect_ignore_glob = [] if started_by_us() else ["test_*.py"]


_RECORDS = 500
"""That all scenes end with, in each partition."""


class MakePersister(Protocol):
    """Applies a resource of that name over one topic, with the sections of its spec that are not as usual."""

    def __call__(self, name: str, topic: str, **sections: Any) -> Persister: ...


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(_SECONDS))
            item.add_marker(pytest.mark.filterwarnings(_ABANDONED_SOCKETS))


@pytest.fixture(scope="session", autouse=True)
def _abandoned_sockets_are_found_here() -> Iterator[None]:
    """Else they would be errors of pytest itself, when it ends."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


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
def _operator() -> None:
    """The operator, installed. It stays, as the node does, so that a second run of the tests begins sooner."""
    with lane(alone=True):
        install()


@pytest.fixture(autouse=True)
def _lane(request: pytest.FixtureRequest) -> Iterator[None]:
    with lane(alone=request.node.get_closest_marker("alone") is not None):
        yield


def install(*, member: str | None = None) -> None:
    """Install the operator by its chart, or bring it to the images of these tests, or to another one of members."""
    values = {
        "image": {"operator": os.environ[OPERATOR_IMAGE], "member": member or os.environ[MEMBER_IMAGE]},
        "settings": _PROMPT,
    }
    release("upgrade", "--install", RELEASE, str(CHART), "--create-namespace", "--wait", values=values)


def release(*arguments: str, values: Mapping[str, Any] | None = None) -> str:
    """Run helm in the operator's namespace; a failure tells what is there."""
    options = ("--namespace", OPERATOR_NAMESPACE, f"--timeout={PATIENCE_SECONDS:.0f}s")
    environment = {"KUBECONFIG": os.environ["KUBECONFIG"]}
    try:
        return helm(*arguments, *options, values=values, environment=environment, seconds=PATIENCE_SECONDS + 60)
    except HelmError as error:
        raise AssertionError(f"{error}\n{explain(Kubectl(OPERATOR_NAMESPACE))}") from None


@pytest.fixture(scope="module")
def unique(request: pytest.FixtureRequest) -> str:
    """A name that no other module has, nor any run before on the same cluster: of the namespace and the bucket."""
    readable = request.module.__name__.rpartition(".")[2].removeprefix("test_").replace("_", "-")
    return f"{readable}-{secrets.token_hex(3)}"


@pytest.fixture(scope="module")
def kubectl(unique: str, minio: MinioServer) -> Iterator[Kubectl]:
    """kubectl in a namespace of this module, where only pods of the *restricted* standard may run."""
    kubectl = make_namespace(unique, minio.secret_key)
    yield kubectl
    kubectl("delete", "feedcollectors,logreplays,logpersisters", "--all")
    kubectl("delete", "namespace", unique, "--wait=false")


def make_namespace(name: str, secret_key: str) -> Kubectl:
    """Make a namespace where only pods of the *restricted* standard may run, with the Secret that resources name."""
    kubectl = Kubectl(name)
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": label}})
    write_secret(kubectl, secret_key)
    return kubectl


@contextmanager
def unharmed(persister: Persister) -> Iterator[None]:
    """Play a scene with a resource that is well. After it all that there is gets stored."""
    persister.wait("Ready", "True", "MembersReady")
    yield
    persister.wait_stored()
    persister.wait("Ready", "True", "MembersReady")


def write_secret(kubectl: Kubectl, secret_key: str) -> None:
    """Write the Secret that resources name."""
    keys = {"AWS_ACCESS_KEY_ID": MinioServer.access_key, "AWS_SECRET_ACCESS_KEY": secret_key}
    kubectl.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s3"}, "stringData": keys})


@pytest.fixture(scope="module")
def s3(minio: MinioServer, host: str) -> Iterator[FaultProxy]:
    """What members know as S3: a proxy before MinIO that can be told to refuse."""
    with FaultProxy(minio.port, host=host, listen=host, http=True) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def workload(kafka: KafkaBroker) -> Workload:
    return Workload(kafka.bootstrap)


@pytest.fixture(scope="module")
def verify(secrets_folder: Path) -> Verify:
    """``logpersister verify --deep`` of what a manifest describes; fails unless every record is stored exactly once."""
    return lambda manifest, *options, **expected: run_verify(
        manifest, "--deep", f"--secrets-dir={secrets_folder}", *options, **expected
    )


@pytest.fixture(scope="module")
def secrets_folder(minio: MinioServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pods have as Secrets, for commands that run beside the cluster."""
    directory = tmp_path_factory.mktemp("secrets")
    minio.write_secret(directory)
    return directory


@pytest.fixture(scope="module")
def make_persister(
    kubectl: Kubectl,
    kafka: KafkaBroker,
    minio: MinioServer,
    s3: FaultProxy,
    workload: Workload,
    verify: Verify,
    tmp_path_factory: pytest.TempPathFactory,
    unique: str,
) -> Iterator[MakePersister]:
    """Return what applies a resource; its objects are in the module's bucket, under its name.

    In the end, whatever was done to a resource that is still there, each record of its topic is stored exactly once.
    """
    client = minio.client()
    client.create_bucket(Bucket=unique)
    client.close()
    directory = tmp_path_factory.mktemp("manifests")
    made: list[Persister] = []

    def make(name: str, topic: str, **sections: Any) -> Persister:
        if topic not in [one.topic for one in made]:
            create_topic(kafka.bootstrap, topic, partitions=len(PARTITIONS))
        storage = {"endpoint": s3.endpoint, "region": minio.region, "secretName": "s3"}
        spec = {
            "kafka": {"bootstrapServers": kafka.bootstrap, "topics": [topic], "sessionTimeout": "10s"},
            "storage": {"bucket": unique, "prefix": name, **storage},
            "upload": {"maxBytes": "1Mi", "maxAge": "3s"},
            "cycleInterval": "500ms",
            "shutdownGrace": "5s",
            "podTemplate": SMALL_MEMBER,
            "image": os.environ[MEMBER_IMAGE],  # whatever a test does to the default one
            "rollout": {"canary": {"analysis": {"duration": "0s", "minRanges": 0}}},
        }
        # The group has the name of the resource, and Kafka outlives the modules.
        persister = Persister(kubectl, f"{name}-{unique}", spec, topic, directory)
        made.append(persister)
        persister.apply(**sections)
        return persister

    yield make
    _verify_at_last([persister for persister in made if persister.metadata()], workload, verify)
    for persister in made:
        persister.group.close()


def _verify_at_last(persisters: Sequence[Persister], workload: Workload, verify: Verify) -> None:
    """Prove that all that the scenes have left is stored, and each record once."""
    for persister in persisters:
        workload.write(persister.topic, _RECORDS, partitions=PARTITIONS, size=100)
    for persister in persisters:
        persister.wait_stored()
        verify(persister.manifest())
