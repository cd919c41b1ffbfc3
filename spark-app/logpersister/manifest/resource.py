"""The LogPersister resource as a whole: what ``kubectl apply -f`` and ``logpersister run -f`` both take."""

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from logpersister.manifest.constraint import Duration, Integer, Model, String, Text
from logpersister.manifest.kafka import KafkaSpec
from logpersister.manifest.output import OutputSpec
from logpersister.manifest.problems import Finding, refuse_all
from logpersister.manifest.quantity import format_size
from logpersister.manifest.spark import SparkSpec
from logpersister.manifest.storage import MAX_PARTS, StorageSpec
from logpersister.manifest.upload import UploadSpec

API_VERSION = "logpersister.dev/v1alpha1"
KIND = "LogPersister"

# A StatefulSet named <name>-<12 digits of the revision> must leave 11 of the 63 characters of a label to Kubernetes.
LONGEST_NAME = 39

Name = Annotated[
    str,
    Text(
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "is not a name that Kubernetes allows (lower-case letters, digits and -)",
        "write for example clicks-backup",
        LONGEST_NAME,
    ),
]
Namespace = Annotated[
    str,
    Text(
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "is not a namespace that Kubernetes allows (lower-case letters, digits and -)",
        "write for example default",
        63,
    ),
]


class Metadata(Model):
    """Kubernetes' own part of the resource. Fields that the API server adds are let through."""

    model_config = ConfigDict(extra="allow")

    name: Name
    """Name of the resource, unique in its namespace; also the consumer group unless `spec.kafka.groupId` says
    otherwise."""

    namespace: Namespace | None = None
    """Namespace, for Kubernetes; without meaning outside it."""

    labels: dict[String, String] = Field(default_factory=dict)
    """Labels for your own use; they change nothing."""

    annotations: dict[String, String] = Field(default_factory=dict)
    """Annotations for your own use; they change nothing."""


class Spec(Model):
    """What the user wants."""

    generation: Annotated[Integer, Field(ge=1, le=2**31 - 1)] = 1
    """Part of every object's name. Raise it when the output changes in a way that readers notice (format, layout):
    from that point on objects have the new number, beginning exactly where the old ones end. Never lower it."""

    kafka: KafkaSpec
    """Where records come from."""

    storage: StorageSpec
    """Where objects go."""

    output: OutputSpec = OutputSpec()
    """What objects look like inside, and how they are laid out in folders."""

    upload: UploadSpec = UploadSpec()
    """When records become an object."""

    members: Annotated[Integer, Field(ge=1, le=1000)] = 1
    """Processes of the group; partitions are shared out among them. Two or more go on without a pause when one
    dies. Outside Kubernetes each `logpersister run` is one, whatever is written here."""

    spark: SparkSpec = SparkSpec()
    """Where the work runs."""

    shutdown_grace: Annotated[timedelta, Duration("0s", "1h")] = timedelta(seconds=30)
    """How long running uploads may go on after SIGTERM. What does not end in time is finished by the next member;
    nothing is lost or stored twice. Longer saves that work, shorter stops sooner."""

    cycle_interval: Annotated[timedelta, Duration("100ms", "5m")] = timedelta(seconds=5)
    """How often a member looks for ranges that are due, and so what may be added to `upload.maxAge`. Shorter when
    `maxAge` is a few seconds; longer for fewer and larger Spark jobs over thousands of slow partitions."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_all(list(self._contradictions()))
        return self

    def _contradictions(self) -> Iterator[Finding]:
        """Rules between parts: ``maxBytes`` must fit into the parts of one upload."""
        largest = self.storage.part_size * MAX_PARTS
        for field, size in self.upload.sizes():
            if size > largest:
                part = format_size(math.ceil(size / (MAX_PARTS * 2**20)) * 2**20)
                yield Finding(
                    f"does not fit into {MAX_PARTS} parts of storage.partSize {format_size(self.storage.part_size)}",
                    f"lower it, or set spec.storage.partSize to {part} or more",
                    ("upload", *field),
                    f'"{format_size(size)}"',
                )


class LogPersister(Model):
    """One consumer group's copy of Kafka topics in a bucket."""

    api_version: Literal["logpersister.dev/v1alpha1"]
    """Version of this format."""

    kind: Literal["LogPersister"]
    """Kind of the resource."""

    metadata: Metadata
    """Kubernetes' own part of the resource."""

    spec: Spec
    """What the user wants."""

    status: Any = Field(default=None, exclude=True, repr=False)
    """What the operator observes; ignored here."""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def group_id(self) -> str:
        """The consumer group: ``spec.kafka.groupId``, or the resource's name."""
        return self.spec.kafka.group_id or self.metadata.name
