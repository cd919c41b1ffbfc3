"""What all resources have in common: how they are named, and Kubernetes' own part of them."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from logpersister.forms.constraint import Model, String, Text

API_VERSION = "logpersister.dev/v1alpha1"

# A StatefulSet named <name>-<12 digits of the revision> must leave 11 of the 63 characters of a label to Kubernetes.
LONGEST_NAME = 39

Name = Annotated[
    str,
    Text(
        r"^[a-z]([-a-z0-9]*[a-z0-9])?$",  # that of a Service, which begins with it, begins with a letter
        "is not a name that Kubernetes allows (lower-case letters, digits and -, a letter first)",
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


OBJECT_META = (
    "name", "namespace", "labels", "annotations", "generateName", "finalizers", "ownerReferences", "uid", "generation",
    "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
    "selfLink",
)  # fmt: skip
"""The fields that Kubernetes has in ``metadata``: those that people write come first."""


class Metadata(Model):
    """Kubernetes' own part of the resource. Fields that the API server adds are let through.

    What a person writes in a file is compared with `OBJECT_META` besides (`manifest.load`).
    """

    model_config = ConfigDict(extra="allow")

    name: Name
    """Name of the resource, unique in its namespace; the consumer group unless `spec.kafka.groupId` is set."""

    namespace: Namespace | None = None
    """Namespace in Kubernetes; without effect elsewhere."""

    labels: dict[String, String] = Field(default_factory=dict)
    """Labels for your own use, without effect."""

    annotations: dict[String, String] = Field(default_factory=dict)
    """Annotations for your own use. Only `logpersister.dev/…` has an effect."""


class KubernetesResource(Model):
    """A resource of some kind, which says what `kind` and `spec` are."""

    api_version: Literal["logpersister.dev/v1alpha1"]
    """API version of the resource."""

    kind: str
    """Kind of the resource."""

    metadata: Metadata
    """Kubernetes' own part of the resource."""

    spec: Any
    """What the user wants."""

    status: Any = Field(default=None, exclude=True, repr=False)
    """What the operator observes; ignored here."""

    @property
    def name(self) -> str:
        return self.metadata.name
