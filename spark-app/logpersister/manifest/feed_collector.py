"""The FeedCollector resource: feeds over HTTP that are collected into a topic."""

from typing import Literal

from logpersister.manifest.blocks.feeds import CollectorSpec
from logpersister.manifest.kubernetes_resource import KubernetesResource


class FeedCollector(KubernetesResource):
    """Feeds that are polled over HTTP, and whose new contents become records of a topic."""

    kind: Literal["FeedCollector"]
    """Kind of the resource."""

    spec: CollectorSpec
    """What is collected."""
