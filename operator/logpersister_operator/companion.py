"""The base of the actors of other kinds than LogPersister: what they keep of resources, and whom they ask."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic

from logpersister_operator.act.reconciler import Reconciler
from logpersister_operator.cluster.kinds import Document, Kind
from logpersister_operator.commons import Commons
from logpersister_operator.managed_resources import ManagedResources, OneKept
from logpersister_operator.observe.members import MemberReader
from logpersister_operator.observe.polling_pool import PollingPool
from logpersister_operator.observe.resource import key_of
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import MemberReport, ResourceKey

RESYNC_SECONDS = 300.0
"""The longest pause between two reconciliations of a resource, whatever happens."""


class Companion(ABC, Generic[OneKept]):
    """Looks after all resources of one kind, whose pods it asks (`supervision.Actor`)."""

    kind: ClassVar[Kind]
    threads: ClassVar[int]
    """How many resources are asked about at once."""

    def __init__(self, commons: Commons, make: Callable[[Callable[[], None] | None], OneKept]) -> None:
        """Begin with no resource; ``make`` returns what is kept of one at first, from what wakes its actor."""
        self._commons = commons
        self._reconciler = Reconciler(commons.cluster, commons.children, commons.metrics)
        self._reader = MemberReader()
        self._reports: PollingPool[ResourceKey, dict[str, MemberReport]] = PollingPool(
            self.kind.plural,
            seconds=commons.settings.report_seconds,
            threads=self.threads,
            on_answer=self.wake,
            essence=lambda answer: {name: self._essence(one) for name, one in answer.items()},
        )
        self._managed = ManagedResources(self._reports.remove, make)

    @abstractmethod
    def _pods(self, key: ResourceKey) -> Iterable[Pod]:
        """Return the pods that are asked for reports."""

    @abstractmethod
    def _essence(self, report: MemberReport) -> object:
        """Return what somebody may act on: verdicts, not counts that go on."""

    def close(self) -> None:
        """Ask nobody any more, without waiting for answers."""
        self._reports.close()
        self._reader.close()

    def listed(self, namespace: str) -> bool:
        return self._commons.children.listed(namespace)

    def seen(self, body: Mapping[str, Any]) -> None:
        """Take in a resource as it is now."""

    def gone(self, body: Mapping[str, Any]) -> None:
        """Take in that a resource does not exist any more."""

    def register(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        self._managed.register(key, wake)
        self._reports.put(key, lambda: self._reader.ask({pod.name: pod for pod in self._pods(key)}))

    def unregister(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        self._managed.unregister(key, wake)

    def wake(self, key: ResourceKey) -> None:
        """Reconcile a resource soon, because something about it has changed."""
        self._managed.wake(key)

    def forget(self, resource: Document) -> None:
        self._reconciler.forget(resource)

    def statuses(self) -> Mapping[ResourceKey, Document]:
        """Return the last status of each resource that was reconciled."""
        return {key: kept.status for key, kept in self._managed.all().items() if kept.status}

    def report_failure(self, resource: Document, error: Exception, attempts: int) -> None:
        """Show on a resource why it is not reconciled."""
        shown = self._reconciler.show_failure(resource, error, attempts)
        if shown is not None:
            self._managed.get(key_of(resource)).status = shown
