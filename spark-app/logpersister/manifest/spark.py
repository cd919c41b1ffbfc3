"""``spec.spark``: where the work runs."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from logpersister.manifest.constraint import Integer, Model, String
from logpersister.manifest.problems import Finding, refuse_all

RESERVED: Mapping[str, str] = {
    "spark.app.name": "it is named after the resource",
    "spark.driver.bindAddress": "it follows from where the member runs",
    "spark.driver.host": "it follows from where the member runs",
    "spark.driver.port": "it follows from where the member runs",
    "spark.dynamicAllocation.enabled": "use spec.spark.executors",
    "spark.executor.instances": "use spec.spark.executors",
    "spark.kubernetes.driver.pod.name": "it is the pod of the member",
    "spark.kubernetes.namespace": "it is the namespace of the resource",
    "spark.master": "use spec.spark.executors",
    "spark.pyspark.driver.python": "workers must run the Python of the member",
    "spark.pyspark.python": "workers must run the Python of the member",
    "spark.python.worker.reuse": "connections to Kafka and the storage must outlive a task",
    "spark.scheduler.mode": "jobs must share the executors, so it is FAIR",
    "spark.submit.deployMode": "a member is the driver",
    "spark.task.cpus": "tasks are packed for one core each",
}
"""Settings that logpersister sets itself, with the reason or the field to use."""

_SECRET = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)
"""What Spark itself redacts (spark.redaction.regex)."""
_REFERENCE = re.compile(r"spark\.kubernetes\.(driver|executor)\.(secrets|secretKeyRef)\.")
"""Settings that only name a Secret."""


class SparkSpec(Model):
    """Where the work runs."""

    executors: Annotated[Integer, Field(ge=0, le=1000)] = 0
    """Executor pods of each member; 0 runs the work inside the member's own process. Add some when one machine's
    cores or network cannot keep up; adding `members` helps as well, and fails over faster."""

    conf: Annotated[dict[String, String], Field(max_length=200)] = Field(default_factory=dict)
    """Further Spark settings, for example `spark.executor.memory: 2g`; values in quotes when they look like numbers.
    Settings that logpersister sets itself, and secrets, are refused."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_all(list(self._contradictions()))
        return self

    def _contradictions(self) -> Iterator[Finding]:
        for key in sorted(self.conf):
            field = ("conf", key)
            if not key.startswith("spark."):
                yield Finding("is not a Spark setting: they begin with spark.", "correct its name", field)
            elif key in RESERVED:
                yield Finding("is set by logpersister itself", f"remove it: {RESERVED[key]}", field)
            elif _SECRET.search(key) and not _REFERENCE.match(key):
                yield Finding(
                    "looks like a secret, and a manifest is stored in the bucket",
                    "remove it; storage and Kafka take theirs from secretName",
                    field,
                )
