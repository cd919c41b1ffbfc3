"""Spark's settings in a pod: what the operator's rendering and the member agree on."""

from typing import Any

import pytest
from pydantic import ValidationError

from logpersister.manifest.blocks.spark import SparkSpec
from logpersister.pipeline.kubernetes import (
    DRIVER_LABEL,
    REQUIRED,
    ExecutorTemplateError,
    NotInPodError,
    executor_settings,
    template_settings,
)

POD = dict.fromkeys(REQUIRED, "x") | {
    "POD_NAME": "clicks-0a1b2c3d4e5f-0",
    "POD_IP": "10.244.0.7",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
}
LIFE = "0f1e2d"


def test_executors_of_two_lives_of_a_pod_have_other_names_and_one_label() -> None:
    one, other = (executor_settings(SparkSpec(executors=2), POD, life) for life in ("0f1e2d", "3c4b5a"))
    names = {settings["spark.kubernetes.executor.podNamePrefix"] for settings in (one, other)}
    assert names == {"clicks-0a1b2c3d4e5f-0-0f1e2d", "clicks-0a1b2c3d4e5f-0-3c4b5a"}
    label = f"spark.kubernetes.executor.label.{DRIVER_LABEL}"
    assert one[label] == other[label] == "clicks-0a1b2c3d4e5f-0"


def test_executors_log_in_and_no_setting_holds_the_secret() -> None:
    settings = executor_settings(SparkSpec(executors=2), POD, LIFE)
    assert settings["spark.authenticate"] == settings["spark.network.crypto.enabled"] == "true"
    assert settings["spark.network.crypto.saslFallback"] == "false", "no way around it"
    assert not [name for name in settings if "secret" in name], "settings are in a ConfigMap: Spark makes a secret"


TUNABLE = {
    "spark.dynamicAllocation.initialExecutors",
    "spark.dynamicAllocation.shuffleTracking.enabled",
    "spark.executor.cores",
    "spark.executor.failuresValidityInterval",
    "spark.executor.maxNumFailures",
    "spark.kubernetes.executor.deleteOnTermination",
}
"""What users may set otherwise: it breaks no promise."""


@pytest.mark.parametrize("spec", [SparkSpec(executors=2), SparkSpec(min_executors=1, max_executors=5)], ids=str)
def test_settings_that_keep_a_promise_cannot_be_overridden(spec: SparkSpec) -> None:
    for name in executor_settings(spec, POD, LIFE).keys() - TUNABLE:
        with pytest.raises(ValidationError, match=r"logpersister (itself|sets itself)"):
            SparkSpec(conf={name: "x"})
    SparkSpec(conf=dict.fromkeys(TUNABLE, "1"))


def test_a_cluster_of_ipv6() -> None:
    pod = POD | {"KUBERNETES_SERVICE_HOST": "fd00::1", "POD_IP": "fd00::7"}
    settings = executor_settings(SparkSpec(executors=1), pod, LIFE)
    assert settings["spark.master"] == "k8s://https://[fd00::1]:443"
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "[fd00::7]"


@pytest.mark.parametrize("name", REQUIRED)
def test_outside_of_a_pod_it_says_what_is_missing(name: str) -> None:
    with pytest.raises(NotInPodError, match=f"{name} is not set .* spec.spark.executors to 0"):
        executor_settings(SparkSpec(executors=1), {key: value for key, value in POD.items() if key != name}, LIFE)


def resources_of(**resources: Any) -> dict[str, str]:
    sidecar = {"name": "sidecar", "resources": {"limits": {"memory": "1Mi"}}}
    return template_settings({"spec": {"containers": [sidecar, {"name": "executor", "resources": resources}]}})


def test_executors_get_the_resources_of_their_template() -> None:
    assert resources_of(requests={"cpu": "200m", "memory": "1Gi"}, limits={"cpu": 2, "memory": "2Gi"}) == {
        "spark.kubernetes.executor.request.cores": "200m",
        "spark.kubernetes.executor.limit.cores": "2",
        "spark.executor.memory": "512m",
        "spark.executor.memoryOverhead": "1536m",  # the limit, whatever is requested
    }


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("895Mi", "'895Mi' is too little .* write 896Mi or more"),
        ("1.5Gi", "'1.5Gi' is not a size; write for example 256Mi"),
    ],
)
def test_memory_that_cannot_be_had(memory: str, message: str) -> None:
    with pytest.raises(ExecutorTemplateError, match=message):
        resources_of(limits={"memory": memory})
