"""User settings of the operator's pods: node selectors, tolerations, resources, sidecars, volumes."""

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from logpersister.forms.constraint import Model, String

_PRESERVED = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""The schema of a pod is some 500 kB, and the API server checks pods anyway when they are made."""


class PodMetadata(Model):
    """What pods carry beside what the operator gives them."""

    labels: Annotated[dict[String, String], Field(max_length=100)] = Field(default_factory=dict)
    """Labels of the pods."""

    annotations: Annotated[dict[String, String], Field(max_length=100)] = Field(default_factory=dict)
    """Annotations of the pods."""


class PodTemplate(Model):
    """A part of a pod, merged over the operator's."""

    metadata: PodMetadata = PodMetadata()
    """Labels and annotations of the pods."""

    spec: Annotated[dict[String, Any], WithJsonSchema(_PRESERVED)] = Field(default_factory=dict)
    """Any part of a pod's spec. Lists such as containers, volumes and variables are merged by name, as `kubectl patch`
    does; everything else replaces the operator's value.
    """

    def sets_image(self, name: str) -> bool:
        """Whether it says something about the image of a container."""
        containers = self.spec.get("containers")
        found = containers if isinstance(containers, list) else []
        return any(isinstance(one, dict) and one.get("name") == name and "image" in one for one in found)
