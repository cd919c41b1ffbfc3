"""Spark's settings for a driver that is a pod and makes executor pods: client mode on Kubernetes.

What the pod is told by its environment (the operator writes it): `REQUIRED`. Names of settings: Spark's "Running on
Kubernetes". Pure.
"""

from collections.abc import Mapping
from typing import Any, Final

from logpersister.forms.problems import RefusedError
from logpersister.forms.quantity import parse_size
from logpersister.manifest.blocks.spark import SparkSpec

DRIVER_PORT: Final = 7078
BLOCK_MANAGER_PORT: Final = 7079
"""Executors connect to both of the driver; fixed, so that network policies can name them."""
EXECUTOR_CONTAINER: Final = "executor"
DRIVER_LABEL: Final = "logpersister.dev/driver"
"""Label of executors: the pod of their member, and so whose they are when its container has started again."""
DECOMMISSION: Final = "/opt/logpersister/bin/decommission"
"""Path in our image (images/decommission.sh)."""
REQUIRED: Final[Mapping[str, str]] = {
    "POD_NAME": "name of this pod: executors are owned by it, and go with it",
    "POD_IP": "its address, which executors connect to",
    "POD_NAMESPACE": "where executors are made",
    "LOGPERSISTER_EXECUTOR_IMAGE": "image of executors",
    "LOGPERSISTER_EXECUTOR_TEMPLATE": "file with the pod that they are made from",
    "LOGPERSISTER_EXECUTOR_ACCOUNT": "their service account",
    "KUBERNETES_SERVICE_HOST": "the API server, which every pod is told",
    "KUBERNETES_SERVICE_PORT": "its port",
}

FAILURES_INTERVAL: Final = "10m"
LEAST_FAILURES: Final = 100
FAILURES_PER_EXECUTOR: Final = 10
"""Spark stops itself when more executors fail within the interval. By default it counts all failures of its life and
allows 2 for each executor. Executors that are killed now and then cost retries only; what fails as often as this never
works, and a member that ends shows it."""

_HEAP: Final = 512
"""MiB. An executor's JVM passes bytes on and holds none; its Python workers are outside of its heap."""
_USUAL: Final = "1280Mi"
_LEAST: Final = _HEAP + 384
"""MiB, with what Spark asks for beside any heap."""
_MEMORY: Final = "spec.spark.executorPodTemplate: memory of container executor"


class NotInPodError(Exception):
    """Executors are wanted, and this process is no pod that could make them."""


class ExecutorTemplateError(Exception):
    """The template of executors asks for what they cannot be given; the message says what to write."""


def executor_settings(spark: SparkSpec, environment: Mapping[str, str], life: str) -> dict[str, str]:
    """Return the settings of Spark for executor pods, without their resources; raises `NotInPodError`.

    Args:
        spark: ``spec.spark`` of the manifest.
        environment: of this process.
        life: a word that no earlier process in this pod has had: Spark numbers executors from 1 each time, and those of
            the process before may still be there.
    """
    missing = sorted(REQUIRED.keys() - environment.keys())
    if missing:
        raise NotInPodError(
            f"spec.spark asks for executor pods, and this process was not started by the operator: {missing[0]} is not "
            f"set ({REQUIRED[missing[0]]}); set spec.spark.executors to 0 to run outside of Kubernetes"
        )
    address, own = (_in_url(environment[name]) for name in ("KUBERNETES_SERVICE_HOST", "POD_IP"))
    pod = environment["POD_NAME"]
    return {
        "spark.master": f"k8s://https://{address}:{environment['KUBERNETES_SERVICE_PORT']}",
        "spark.submit.deployMode": "client",
        "spark.driver.host": own,
        # Not every interface: executors connect to what the driver binds to (SPARK-58748).
        "spark.driver.bindAddress": own,
        "spark.driver.port": str(DRIVER_PORT),
        "spark.driver.blockManager.port": str(BLOCK_MANAGER_PORT),
        "spark.kubernetes.namespace": environment["POD_NAMESPACE"],
        "spark.kubernetes.driver.pod.name": pod,
        "spark.kubernetes.executor.podNamePrefix": f"{pod}-{life}",
        f"spark.kubernetes.executor.label.{DRIVER_LABEL}": pod,
        "spark.kubernetes.executor.podTemplateFile": environment["LOGPERSISTER_EXECUTOR_TEMPLATE"],
        "spark.kubernetes.executor.podTemplateContainerName": EXECUTOR_CONTAINER,
        "spark.kubernetes.executor.container.image": environment["LOGPERSISTER_EXECUTOR_IMAGE"],
        "spark.kubernetes.authenticate.executor.serviceAccountName": environment["LOGPERSISTER_EXECUTOR_ACCOUNT"],
        "spark.kubernetes.executor.deleteOnTermination": "true",
        # Spark makes a secret when the driver starts and gives it to its executors: who has it not can do nothing at
        # the driver's ports or theirs, and what passes there is encrypted by it.
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.network.crypto.saslFallback": "false",
        # A node that is drained: its executor takes no new tasks, and the running ones end or are tried elsewhere.
        "spark.decommission.enabled": "true",
        "spark.kubernetes.decommission.script": DECOMMISSION,
        "spark.executor.cores": "1",
        "spark.executor.failuresValidityInterval": FAILURES_INTERVAL,
        **_number_of_executors(spark),
    }


def template_settings(template: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that give executors the resources and the time of their template.

    Spark keeps everything of a template but these: it computes them from settings of its own, and what memory it
    requests is also the limit. Raises `ExecutorTemplateError`.
    """
    containers = {container["name"]: container for container in template["spec"]["containers"]}
    resources = containers[EXECUTOR_CONTAINER].get("resources") or {}
    requests, limits = (resources.get(name) or {} for name in ("requests", "limits"))
    settings = {}
    if "cpu" in requests:
        settings["spark.kubernetes.executor.request.cores"] = str(requests["cpu"])
    if "cpu" in limits:
        settings["spark.kubernetes.executor.limit.cores"] = str(limits["cpu"])
    overhead = _mebibytes(limits.get("memory", requests.get("memory", _USUAL))) - _HEAP
    if "terminationGracePeriodSeconds" in template["spec"]:
        grace = template["spec"]["terminationGracePeriodSeconds"]
        settings["spark.kubernetes.executor.terminationGracePeriodSeconds"] = f"{grace}s"
    return settings | {"spark.executor.memory": f"{_HEAP}m", "spark.executor.memoryOverhead": f"{overhead}m"}


def _in_url(address: str) -> str:
    """Return an address as URLs have it, and Spark wherever it asks for a host: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def _mebibytes(memory: Any) -> int:
    try:
        found = parse_size(memory) // 2**20
    except RefusedError as error:
        raise ExecutorTemplateError(f"{_MEMORY}: {memory!r} {error}") from None
    if found < _LEAST:
        raise ExecutorTemplateError(
            f"{_MEMORY}: {memory!r} is too little for Java and Python; write {_LEAST}Mi or more"
        )
    return found


def _number_of_executors(spark: SparkSpec) -> dict[str, str]:
    fewest, most = spark.dynamic_executors or (spark.executors, spark.executors)
    failures = {"spark.executor.maxNumFailures": str(max(LEAST_FAILURES, FAILURES_PER_EXECUTOR * most))}
    if spark.dynamic_executors is None:
        return failures | {"spark.executor.instances": str(spark.executors)}
    return failures | {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",  # there is no shuffle, and no service for it
        "spark.dynamicAllocation.minExecutors": str(fewest),
        "spark.dynamicAllocation.initialExecutors": str(fewest),
        "spark.dynamicAllocation.maxExecutors": str(most),
    }
