"""The registry of managed resources: what the operator keeps of each resource between two reconciliations."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from logpersister.manifest import LogPersister
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.observe.lag import GroupLag, lag_depends_on
from logpersister_operator.observe.members import UnansweredSince
from logpersister_operator.observe.object_events import ObjectEvents
from logpersister_operator.observe.secrets import SecretCache, SecretsRead
from logpersister_operator.observe.uploads import UploadTally
from logpersister_operator.observed_state import ResourceKey
from logpersister_operator.plan import Plan


@dataclass(slots=True)
class Kept:
    """What is kept of one resource. Only the thread that reconciles the resource changes it."""

    wake: Callable[[], None] | None = None
    """Wakes the actor that reconciles the resource; None while the resource has no actor."""
    events: ObjectEvents = field(default_factory=ObjectEvents)
    status: Document = field(default_factory=dict)
    """The status as it was written last; empty before the first reconciliation has ended."""


@dataclass(slots=True)
class ManagedResource(Kept):
    """What is kept of a LogPersister."""

    uploads: UploadTally = field(default_factory=UploadTally)
    unanswered: UnansweredSince = field(default_factory=UnansweredSince)
    member_names: frozenset[str] = frozenset()
    """Names of all members that the resource was seen to have."""
    secrets: SecretCache = field(default_factory=SecretCache)
    group: GroupLag | None = None
    last: Plan | None = None
    """What the last reconciliation found; None before the first one has ended."""
    _group_depends_on: object = None

    def group_of(self, resource: LogPersister, secrets: SecretsRead) -> GroupLag:
        """Return what is asked about the group; another one when the settings have changed.

        The new one goes on with what the old one knows about partitions that make no progress.
        """
        depends_on = lag_depends_on(resource, secrets.seen)
        if self.group is None or self._group_depends_on != depends_on:
            known = None if self.group is None else self.group.no_progress
            self.group, self._group_depends_on = GroupLag(resource, secrets.secrets(), known), depends_on
        return self.group


OneKept = TypeVar("OneKept", bound=Kept)


class ManagedResources(Generic[OneKept]):
    """All managed resources of one kind. Thread-safe."""

    def __init__(
        self, on_forget: Callable[[ResourceKey], None], make: Callable[[Callable[[], None] | None], OneKept]
    ) -> None:
        """Begin with no resource.

        Args:
            on_forget: is called with each key whose resource is forgotten.
            make: returns what is kept of a resource at first, from what wakes its actor.
        """
        self._on_forget = on_forget
        self._make = make
        self._resources: dict[ResourceKey, OneKept] = {}
        self._lock = threading.Lock()

    def register(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        """Begin to manage a resource; what is kept of an earlier one of the same name is forgotten."""
        self._forget(key)
        with self._lock:
            self._resources[key] = self._make(wake)

    def unregister(self, key: ResourceKey, wake: Callable[[], None]) -> None:
        """Forget a resource, unless another actor has registered one of that name meanwhile."""
        managed = self.find(key)
        if managed is not None and managed.wake is wake:
            self._forget(key)

    def wake(self, key: ResourceKey) -> None:
        """Wake the actor of a resource, if there is one."""
        managed = self.find(key)
        if managed is not None and managed.wake is not None:
            managed.wake()

    def find(self, key: ResourceKey) -> OneKept | None:
        with self._lock:
            return self._resources.get(key)

    def get(self, key: ResourceKey) -> OneKept:
        """Return what is kept of a resource, which need not be registered."""
        with self._lock:
            return self._resources.setdefault(key, self._make(None))

    def all(self) -> dict[ResourceKey, OneKept]:
        """Return what is kept of each resource."""
        with self._lock:
            return dict(self._resources)

    def _forget(self, key: ResourceKey) -> None:
        self._on_forget(key)
        with self._lock:
            self._resources.pop(key, None)
