"""A release of the chart on a real API server, and the accounts that it makes."""

import contextlib
import copy
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from logpersister_operator.cluster.kinds import RESOURCES, Kind
from tests.chart.helm import CHART, Document, helm
from tests.integration.harness.forks import Fork
from tests.integration.harness.waiting import eventually
from tests.stack.kubernetes import ApiServer, Client, Refused

NAME = "logpersister"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{DEFINITIONS}/logpersisters.logpersister.dev"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PREFIX = "LOGPERSISTER_OPERATOR_"


@dataclass(frozen=True)
class Installation:
    """Helm's release ``logpersister`` in a namespace; there may be none yet."""

    server: ApiServer
    api: Client
    namespace: str
    directory: Path

    def helm(self, command: str, *options: str, values: Mapping[str, Any] | None = None) -> str:
        """Run a helm command on the release."""
        environment = {"KUBECONFIG": str(self.server.kubeconfig), "HOME": str(self.directory)}
        return helm(command, *options, "--namespace", self.namespace, values=values, environment=environment)

    def install(self, values: Mapping[str, Any] | None = None, *, chart: Path = CHART) -> str:
        return self.helm("install", NAME, str(chart), values=values or {})

    def upgrade(self, values: Mapping[str, Any]) -> str:
        return self.helm("upgrade", NAME, str(CHART), values=values)

    def deployment(self) -> Document | None:
        return self.get(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{NAME}-operator")

    def get(self, path: str) -> Document | None:
        try:
            return self.api.get(path)
        except Refused as error:
            if error.code == 404:
                return None
            raise

    def settings(self) -> dict[str, str]:
        """Return what the Deployment tells the operator, but for its ports."""
        deployment = self.deployment()
        assert deployment is not None
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        found = {one["name"].removeprefix(_PREFIX): one.get("value", "") for one in container["env"]}
        return {name: value for name, value in found.items() if not name.endswith("_PORT")}

    def wait_for_definition(self) -> None:
        """Wait until all of our kinds are served."""
        for kind in RESOURCES:
            eventually(f"{kind.plural} are served", partial(self._serves, kind))

    def remove_definitions(self) -> None:
        """Delete the definitions of all our kinds and wait until they are gone: the next installation makes its own."""
        paths = [f"{DEFINITIONS}/{kind.plural}.logpersister.dev" for kind in RESOURCES]
        for path in paths:
            with contextlib.suppress(Refused):  # it is gone by now
                self.api.delete(path)
        eventually("no definition is left", lambda: not any(map(self.get, paths)))

    def _serves(self, kind: Kind) -> bool:
        try:
            return self.get(kind.path(None)) is not None
        except Refused:  # its storage begins
            return False

    def kubeconfig(self, account: str) -> Path:
        """Return a file with which a client is a service account of the namespace, by a real token."""
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{account}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self.api.create(path, request)["status"]["token"]
        config = copy.deepcopy(json.loads(self.server.kubeconfig.read_text()))
        config["users"] = [{"name": "account", "user": {"token": token}}]
        config["contexts"][0]["context"] = {"cluster": "test", "user": "account", "namespace": self.namespace}
        file = self.directory / f"{account}.kubeconfig"
        file.write_text(json.dumps(config))
        return file

    def user(self, account: str) -> str:
        return f"system:serviceaccount:{self.namespace}:{account}"


def run_program(command: list[str], kubeconfig: Path) -> subprocess.CompletedProcess[str]:
    """Run what a container of the operator's image runs, here."""
    python, option, module, *arguments = command
    assert (python, option) == ("python", "-m")
    log = kubeconfig.with_name(f"{module}.log")
    log.write_text("")
    code = Fork((module,), arguments, {**os.environ, "KUBECONFIG": str(kubeconfig)}, log).wait(120)
    return subprocess.CompletedProcess(command, code, stderr=log.read_text())


def play_job(installation: Installation, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Do what the controllers of jobs and nodes do, which are not here: run a Job once, and say how it ended."""
    path = f"/apis/batch/v1/namespaces/{installation.namespace}/jobs/{name}"

    def unfinished() -> Document | None:
        found = installation.get(path)
        return found if found is not None and not found.get("status", {}).get("conditions") else None

    job = eventually(f"Job {name}", unfinished)
    assert job is not None
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    kubeconfig = installation.kubeconfig(pod["serviceAccountName"])
    done = run_program([*container["command"], *container["args"], *options], kubeconfig)
    time = job["metadata"]["creationTimestamp"]
    ended = {"status": "True", "lastTransitionTime": time, "lastProbeTime": time}
    if done.returncode == 0:
        conditions = [{"type": "SuccessCriteriaMet", **ended}, {"type": "Complete", **ended}]
        status = {"succeeded": 1, "completionTime": time}
    else:
        conditions = [{"type": "FailureTarget", **ended}, {"type": "Failed", **ended}]
        status = {"failed": 1}
    counted = {"uncountedTerminatedPods": {}, "startTime": time, **status, "conditions": conditions}
    document = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "status": counted}
    installation.api.apply(f"{path}/status", document, manager="job-controller")
    return done
