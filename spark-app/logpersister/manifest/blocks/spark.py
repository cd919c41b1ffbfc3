"""``spec.spark``: where the work runs."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from logpersister.forms.constraint import Model, String, Text, Whole, must, never
from logpersister.forms.problems import Finding, refuse
from logpersister.forms.rule import refuses
from logpersister.manifest.blocks.pods import PodTemplate

_IMAGE = "use spec.image"
_PLACE = "it follows from where the member runs"
_PYTHON = "workers must run the Python of the member"
_DRAINED = "executors of a drained node end what they are at"

RESERVED: Mapping[str, str] = {
    "spark.app.name": "it is named after the resource",
    "spark.authenticate": "executors always log in at their member",
    "spark.authenticate.enableSaslEncryption": "executors always encrypt, by spark.network.crypto",
    "spark.blockManager.port": "network policies name it",
    "spark.decommission.enabled": _DRAINED,
    "spark.driver.bindAddress": _PLACE,
    "spark.driver.blockManager.port": _PLACE,
    "spark.driver.host": _PLACE,
    "spark.driver.port": _PLACE,
    "spark.dynamicAllocation.enabled": "use spec.spark.maxExecutors",
    "spark.dynamicAllocation.maxExecutors": "use spec.spark.maxExecutors",
    "spark.dynamicAllocation.minExecutors": "use spec.spark.minExecutors",
    "spark.executor.instances": "use spec.spark.executors",
    "spark.kubernetes.container.image": _IMAGE,
    "spark.kubernetes.decommission.script": _DRAINED,
    "spark.kubernetes.driver.container.image": _IMAGE,
    "spark.kubernetes.driver.pod.name": "it is the pod of the member",
    "spark.kubernetes.executor.container.image": _IMAGE,
    "spark.kubernetes.executor.podNamePrefix": "names of executors begin with their member's",
    "spark.kubernetes.executor.podTemplateContainerName": "it is executor",
    "spark.kubernetes.executor.podTemplateFile": "use spec.spark.executorPodTemplate",
    "spark.kubernetes.namespace": "it is the namespace of the resource",
    "spark.master": "use spec.spark.executors",
    "spark.pyspark.driver.python": _PYTHON,
    "spark.pyspark.python": _PYTHON,
    "spark.python.daemon.module": _PYTHON,
    "spark.python.worker.module": _PYTHON,
    "spark.python.worker.reuse": "connections to Kafka and the storage must outlive a task",
    "spark.scheduler.mode": "jobs must share the executors, so it is FAIR",
    "spark.submit.deployMode": "a member is the driver",
    "spark.task.cpus": "tasks are packed for one core each",
}
"""Settings that logpersister sets itself, with the reason or the field to use."""

_RESERVED_FAMILIES = (
    "^spark[.](network[.]crypto|kubernetes[.]authenticate)[.]"
    "|^spark[.]kubernetes[.]executor[.]label[.](app[.]kubernetes[.]io|logpersister[.]dev)/"
)
"""Encryption, accounts, and the labels by which members and network policies find executors."""

_SENSITIVE = "(?i)secret|password|token|access[.]?key"
"""What Spark itself redacts (spark.redaction.regex)."""
_REFERENCE = "^spark[.]kubernetes[.](driver|executor)[.](secrets|secretKeyRef)[.]"
"""Settings that only name a Secret."""


def _check_reserved(key: str) -> None:
    if key in RESERVED:
        raise refuse("is set by logpersister itself", f"remove it: {RESERVED[key]}")


def _is_no_secret(key: str) -> bool:
    return re.search(_SENSITIVE, key, re.ASCII) is None or re.match(_REFERENCE, key) is not None


SettingName = Annotated[
    str,
    Text(
        r"^spark[.][!-~]+$",
        "is not a Spark setting: they begin with spark.",
        "correct its name",
        conditions=(
            _check_reserved,
            never(
                _RESERVED_FAMILIES,
                "is of the settings that logpersister sets itself: encryption, accounts and labels of executors",
                "remove it; use spec.serviceAccount for the account, spec.spark.executorPodTemplate for labels",
            ),
            must(
                _is_no_secret,
                "looks like a secret, and a manifest is stored in the bucket",
                "remove it; storage and Kafka take theirs from secretName",
            ),
        ),
    ),
]


SettingValue = Annotated[String, Field(max_length=4000)]


class SparkSpec(Model):
    """Where the work runs."""

    executors: Annotated[int, Whole(0, 1000)] = 0
    """Executor pods per member; 0 runs the work in the member's own pod."""

    min_executors: Annotated[int, Whole(0, 1000)] | None = None
    """Executor pods per member that stay when there is nothing to do. Default: 1. Only with `maxExecutors`."""

    max_executors: Annotated[int, Whole(1, 1000)] | None = None
    """Largest number of executor pods per member, instead of `executors`: Spark adds them while tasks wait and removes
    idle ones, down to `minExecutors`.
    """

    conf: Annotated[dict[SettingName, SettingValue], Field(max_length=200)] = Field(default_factory=dict)
    """Further Spark settings, for example `spark.executor.memory: 2g`. Refused are secrets, and settings that
    logpersister sets itself.
    """

    executor_pod_template: PodTemplate | None = None
    """Merged into the executors' pods, as `spec.podTemplate`; their container is named `executor`."""

    @property
    def has_executors(self) -> bool:
        """Whether executor pods do the work, and not the member's own process."""
        return self.executors > 0 or self.dynamic_executors is not None

    @property
    def dynamic_executors(self) -> tuple[int, int] | None:
        """Fewest and most executors of dynamic allocation; none when their number is fixed."""
        if self.max_executors is None:
            return None
        return 1 if self.min_executors is None else self.min_executors, self.max_executors

    @refuses
    def _executors_are_fixed_or_dynamic(self) -> Iterator[Finding]:
        if self.max_executors is not None and self.executors > 0:
            told = "contradicts maxExecutors: their number is fixed or it is not"
            yield Finding(told, "remove one of them", ("executors",))
        if self.min_executors is None:
            return
        if self.max_executors is None:
            yield Finding("needs maxExecutors", "set it, or use executors for a fixed number", ("minExecutors",))
        elif self.min_executors > self.max_executors:
            yield Finding("is more than maxExecutors", "lower it, or raise maxExecutors", ("minExecutors",))
