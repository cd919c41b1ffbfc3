"""Secrets of Strimzi as they are: the operator logs in with them, and pods find them where members look for them."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from logpersister.kafka_client import check_broker
from logpersister.manifest import parse
from logpersister.manifest.secrets import DIRECTORY_VARIABLE, Secrets
from tests.integration.kubernetes.operator_process import Resource
from tests.stack import KafkaBroker, strimzi
from tests.stack.kubernetes import Client
from tests.stack.kubernetes.client import Document
from tests.stack.strimzi import CLUSTER_CA, SecretData
from tests.stack.topics import create_topic, produce

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

USER, PASSWORD, TOPIC = "clicks-backup", "correct-horse-battery", "clicks"
WAYS = [
    {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "secretName": USER, "caSecretName": CLUSTER_CA},
    {"protocol": "SSL", "secretName": USER, "caSecretName": CLUSTER_CA},
]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    directory = tmp_path_factory.mktemp("strimzi")
    with KafkaBroker(directory, listeners=["SSL", "SASL_SSL"], users={USER: PASSWORD}) as broker:
        create_topic(broker.bootstrap, TOPIC)
        produce(broker.bootstrap, TOPIC, [b"one", b"two"])
        yield broker


def create(api: Client, namespace: str, name: str, data: SecretData) -> None:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    metadata = {"name": name, "labels": {"strimzi.io/cluster": "main"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata, "data": encoded}
    api.create(f"/api/v1/namespaces/{namespace}/secrets", secret)


def mounted(pod: Document, api: Client, namespace: str, root: Path) -> Secrets:
    """Do what a kubelet does with the Secrets of a pod; return what its container finds."""
    (container,) = pod["containers"]
    paths = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    for volume in pod["volumes"]:
        if "secret" not in volume:
            continue
        data = api.get(f"/api/v1/namespaces/{namespace}/secrets/{volume['secret']['secretName']}")["data"]
        folder = root / paths[volume["name"]].lstrip("/")
        folder.mkdir(parents=True)
        for key, value in data.items():
            (folder / key).write_bytes(base64.b64decode(value))
    variables = {one["name"]: one.get("value", "") for one in container["env"]}
    return Secrets({DIRECTORY_VARIABLE: str(root / variables[DIRECTORY_VARIABLE].lstrip("/"))})


@pytest.mark.parametrize("security", WAYS, ids=["scram", "tls"])
def test_a_user_of_strimzi(
    broker: KafkaBroker, resource: Resource, api: Client, namespace: str, tmp_path: Path, security: dict[str, Any]
) -> None:
    assert broker.certificates is not None
    is_tls = security["protocol"] == "SSL"
    user = strimzi.tls_user(broker.certificates) if is_tls else strimzi.scram_user(USER, PASSWORD)
    create(api, namespace, USER, user)
    create(api, namespace, CLUSTER_CA, strimzi.cluster_ca(broker.certificates))
    address = broker.address(security["protocol"])
    resource.apply(
        {
            "kafka": {"bootstrapServers": address, "topics": [TOPIC], "security": security},
            "storage": {"bucket": "logs", "region": "eu-west-1"},
            "spark": {"executors": 1},
        }
    )

    resource.eventually("the operator knows the lag", lambda: resource.status().get("lag"))

    (name,) = resource.wait_stateful_sets(1)
    (config,) = resource.children("api/v1", "configmaps").values()
    member = resource.stateful_sets()[name]["spec"]["template"]["spec"]
    executor = json.loads(config["data"]["executor.json"])["spec"]
    kafka = parse(resource.get() or {}).spec.kafka
    for pod in (member, executor):
        secrets = mounted(pod, api, namespace, tmp_path / str(pod is member))
        assert check_broker(kafka, secrets, "clicks").topics == {TOPIC: 1}
