"""Resources that want one consumer group, in two namespaces of a real API server."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.stack.kubernetes import ApiServer, Client

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

SPEC: dict[str, Any] = {
    "kafka": {"bootstrapServers": "127.0.0.1:1,127.0.0.2:1", "topics": ["clicks"]},
    "storage": {"bucket": "logs", "prefix": "raw", "region": "eu-west-1"},
}
OTHER_BROKERS: dict[str, Any] = {**SPEC, "kafka": {"bootstrapServers": "127.0.0.3:1,127.0.0.2:1", "topics": ["views"]}}
A_SECOND = 1.1
"""The API server tells in whole seconds when a resource was made."""


@pytest.fixture
def beside(api: Client, namespace: str) -> str:
    """Another namespace, which comes after the test's own in every list."""
    name = f"{namespace}-beside"
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@pytest.fixture
def operator(api_server: ApiServer, tmp_path: Path, namespace: str, beside: str) -> Iterator[OperatorProcess]:
    """The operator of both namespaces, not started yet."""
    process = OperatorProcess(api_server, tmp_path, namespace, NAMESPACES=f"{namespace},{beside}")
    yield process
    process.kill()


@pytest.fixture
def younger(api: Client, namespace: str, operator: OperatorProcess) -> Resource:
    return Resource(api, namespace, "clicks", operator.tail)


@pytest.fixture
def older(api: Client, beside: str, operator: OperatorProcess) -> Resource:
    return Resource(api, beside, "clicks", operator.tail)


def members(resource: Resource) -> list[int]:
    return [one["spec"]["replicas"] for one in resource.stateful_sets().values()]


def test_the_younger_of_one_name_gets_no_member_before_the_older_is_gone(
    older: Resource, younger: Resource, operator: OperatorProcess
) -> None:
    older.apply(OTHER_BROKERS)
    time.sleep(A_SECOND)
    younger.apply(SPEC)
    operator.start()
    told = younger.wait("Stalled", "True", "GroupShared")
    assert "belongs to a resource of another namespace" in told["message"]
    assert older.namespace not in told["message"]
    assert younger.condition("GroupShared")["status"] == "True"
    assert younger.condition("Ready")["reason"] == "GroupShared"
    older.wait("Reconciling", "True", "StartingMembers")
    younger.eventually("what members need but no member", lambda: members(younger) == [0])
    older.eventually("members of the other one", lambda: members(older) == [1])
    older.eventually("the older one hears of it", lambda: "also names it" in older.condition("GroupShared")["message"])
    assert older.condition("GroupShared")["status"] == "False"
    (event,) = younger.wait_events("GroupShared")
    assert event["type"] == "Warning"
    older.delete()
    younger.wait("Stalled", "False", "Progressing")
    younger.eventually("members", lambda: members(younger) == [1])
