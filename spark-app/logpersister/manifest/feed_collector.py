"""The FeedCollector resource: feeds over HTTP that are collected into a topic."""

from typing import Any, Literal

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister.manifest.blocks.feeds import CollectorSpec
from logpersister.manifest.resource import Metadata


class FeedCollector(Model):
    """Feeds that are polled over HTTP, and whose new contents become records of a topic."""

    api_version: Literal["logpersister.dev/v1alpha1"]
    """API version of the resource."""

    kind: Literal["FeedCollector"]
    """Kind of the resource."""

    metadata: Metadata
    """Kubernetes' own part of the resource."""

    spec: CollectorSpec
    """What is collected."""

    status: Any = Field(default=None, exclude=True, repr=False)
    """What the operator observes; ignored here."""

    @property
    def name(self) -> str:
        return self.metadata.name
