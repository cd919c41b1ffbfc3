"""What the actors of all kinds of resources share."""

from collections.abc import Callable
from dataclasses import dataclass

from logpersister_operator.cluster.client import Cluster
from logpersister_operator.metrics import Metrics
from logpersister_operator.observe.children import Children
from logpersister_operator.settings import Settings


@dataclass(frozen=True, slots=True)
class Commons:
    """What an operator has once, whatever kinds of resources it looks after."""

    settings: Settings
    cluster: Cluster
    children: Children
    metrics: Metrics
    refusal: Callable[[str], str]
    """Returns why the API server does not tell of a namespace; empty when it tells."""
