"""The consumer group that each resource wants, of all resources that the operator sees. Thread-safe."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from logpersister_operator.decide.health.group_sharing import share
from logpersister_operator.observe.resource import claim_of, key_of
from logpersister_operator.observed_state import Claim, ResourceKey


class Groups:
    """What is known of the groups of all resources, and who is notified when the group of a rival changes."""

    def __init__(self, on_change: Callable[[ResourceKey], None]) -> None:
        self._on_change = on_change
        self._claims: dict[ResourceKey, Claim] = {}
        self._by_group: dict[str, dict[ResourceKey, Claim]] = {}
        self._lock = threading.Lock()

    def seen(self, resource: Mapping[str, Any]) -> None:
        """Take in a resource as it is now."""
        claim = claim_of(resource)
        if claim is not None:  # what cannot be read goes on with what it was before
            self._put(claim.key, claim)

    def gone(self, resource: Mapping[str, Any]) -> None:
        """Take in that a resource does not exist any more."""
        self.lost(key_of(resource), resource["metadata"]["uid"])

    def lost(self, key: ResourceKey, uid: str) -> None:
        """Take in that there is no resource with this uid any more."""
        with self._lock:
            known = self._claims.get(key)
        if known is not None and known.uid == uid:
            self._put(key, None)

    def rivals(self, resource: Mapping[str, Any]) -> tuple[Claim, ...]:
        """Return what other resources want the same group."""
        claim = claim_of(resource)
        with self._lock:
            return () if claim is None else self._sharing(claim)

    def _put(self, key: ResourceKey, claim: Claim | None) -> None:
        with self._lock:
            before = self._claims.pop(key, None)
            if before is not None:
                of_group = self._by_group[before.group]
                del of_group[key]
                if not of_group:
                    del self._by_group[before.group]
            if claim is not None:
                self._claims[key] = claim
                self._by_group.setdefault(claim.group, {})[key] = claim
            changed = () if claim == before else (before, claim)
            concerned = {rival.key for one in changed if one is not None for rival in self._sharing(one)}
        for rival in concerned:
            self._on_change(rival)

    def _sharing(self, claim: Claim) -> tuple[Claim, ...]:
        return tuple(one for one in self._by_group.get(claim.group, {}).values() if share(one, claim))
