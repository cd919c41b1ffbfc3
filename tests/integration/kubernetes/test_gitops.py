"""What Git says stays what is there: the operator makes no difference that a GitOps tool would see."""

import subprocess
from typing import Any

import pytest
import yaml

from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.stack import artifacts
from tests.stack.kubernetes import ApiServer, Client

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

MANIFEST: dict[str, Any] = {
    "apiVersion": "logpersister.dev/v1alpha1",
    "kind": "LogPersister",
    "metadata": {
        "name": "clicks",
        "labels": {"app.kubernetes.io/instance": "backups", "team": "data"},
        "annotations": {"argocd.argoproj.io/tracking-id": "backups:logpersister.dev/LogPersister:data/clicks"},
    },
    "spec": {
        "kafka": {"bootstrapServers": "127.0.0.1:1", "topics": ["clicks"]},
        "storage": {"bucket": "logs", "prefix": "raw", "region": "eu-west-1"},
        "output": {"partitionBy": [{"date": {"granularity": "day"}}]},
        "upload": {"maxAge": "15m"},
        "spark": {"executors": 1},
        "networkPolicy": "Restricted",
    },
}


def kubectl(server: ApiServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    cache = f"--cache-dir={server.kubeconfig.with_name('kubectl')}"
    command = [str(artifacts.go_program("kubectl")), f"--kubeconfig={server.kubeconfig}", cache, *arguments]
    return subprocess.run(
        command, input=yaml.safe_dump(MANIFEST), capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "options", [("--server-side", "--field-manager=argocd-controller"), ()], ids=["server-side", "client-side"]
)
def test_what_was_applied_does_not_differ_from_what_is_there(
    api_server: ApiServer, api: Client, namespace: str, operator: OperatorProcess, options: tuple[str, ...]
) -> None:
    def differ() -> str:
        return kubectl(api_server, "diff", f"--namespace={namespace}", *options, "--filename=-").stdout

    assert "+kind: LogPersister" in differ(), "this sees differences"
    applied = kubectl(api_server, "apply", f"--namespace={namespace}", *options, "--filename=-")
    assert applied.returncode == 0, applied.stderr
    resource = Resource(api, namespace, "clicks", operator.tail)
    resource.wait_stateful_sets(1)
    resource.wait_for_rest()  # a status that changes meanwhile is a difference, too
    assert differ() == ""
    again = kubectl(api_server, "apply", f"--namespace={namespace}", *options, "--filename=-")
    assert (resource.get() or {})["metadata"]["generation"] == 1, again.stdout
