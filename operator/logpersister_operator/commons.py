"""What the actors of all kinds of resources share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.kinds import Document, Kind
from logpersister_operator.metrics import Metrics
from logpersister_operator.observe.children import Children
from logpersister_operator.observed_state import ResourceKey
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


class Companion(Protocol):
    """The actor of another kind than LogPersister, as the operator sees it."""

    @property
    def kind(self) -> Kind: ...

    def wake(self, key: ResourceKey) -> None:
        """Reconcile a resource soon, because something about it has changed."""

    def statuses(self) -> Mapping[ResourceKey, Document]:
        """Return the last status of each resource, as far as metrics tell of it."""

    def close(self) -> None:
        """Ask nobody any more, without waiting for answers."""
