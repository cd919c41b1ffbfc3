"""Whether another resource wants the same consumer group, and who of them has it. Pure.

Who has members, or had some and is paused, keeps the group, else who was made first; so that nothing which runs is
stopped by a newcomer, nor by an operator that knows of sharing when the one before did not (docs/design/groups.md).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Any, Final

from logpersister.manifest.kafka import Address, parse_addresses
from logpersister.manifest.problems import RefusedError
from logpersister_operator.decide.conditions import Aspect, Obstacle, Verdict, no, unknown, yes
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_state import Claim, ObservedState, ResourceKey

MOST_NAMED: Final = 5
"""Other resources that a message names."""


def claim_of(resource: Mapping[str, Any]) -> Claim | None:
    """Return what group a resource wants, whatever else is wrong with its spec; None when it does not say where."""
    metadata, kafka = resource["metadata"], (resource.get("spec") or {}).get("kafka") or {}
    try:
        addresses = parse_addresses(str(kafka.get("bootstrapServers", "")))
    except RefusedError:
        return None
    status = resource.get("status") or {}
    rollout = status.get("rollout") or {}
    revisions = (status.get("revision"), rollout.get("stable"), rollout.get("candidate"))
    running = ((status.get("members") or {}).get("desired") or 0) > 0
    return Claim(
        ResourceKey(metadata["namespace"], metadata["name"]),
        metadata["uid"],
        metadata.get("creationTimestamp", ""),
        kafka.get("groupId") or metadata["name"],
        frozenset(_spelt_out(address, metadata["namespace"]) for address in addresses),
        running=running,
        has_run=running or rollout.get("stable") is not None,
        revisions=frozenset(one for one in revisions if one is not None),
    )


def share(one: Claim, other: Claim) -> bool:
    """Whether two resources want one group: of one name, at brokers of which one is the same."""
    return one.uid != other.uid and one.group == other.group and not one.brokers.isdisjoint(other.brokers)


@dataclass(frozen=True, slots=True)
class Sharing:
    """What is found about the group of a resource."""

    group: str
    rivals: tuple[Claim, ...] = ()
    """Who else wants it, those that come first first."""
    holder: Claim | None = None
    """Who has it, so that this resource gets no members; None when it may have some."""

    @property
    def obstacle(self) -> Obstacle | None:
        """Why no member may run."""
        if self.holder is None:
            return None
        return Obstacle(
            Reason.GROUP_SHARED,
            f"consumer group {self.group} at these brokers belongs to {self.holder.key}, which was first; "
            "no member runs here, because both would take partitions from each other; create this resource again with "
            f"another name or another spec.kafka.groupId, or delete {self.holder.key}",
        )

    @property
    def verdict(self) -> Verdict:
        aspect, held = Aspect.GROUP_SHARED, self.obstacle
        if held is not None:
            return yes(aspect, held.reason, held.message)
        running = [one for one in self.rivals if one.running]
        if running:
            return yes(
                aspect,
                Reason.GROUP_SHARED,
                f"members of {_names(running)} are in consumer group {self.group}, too: where a record is stored "
                "depends on the owner of its partition; create one of them again with another name or another "
                "spec.kafka.groupId",
            )
        if self.rivals:
            also = "also names it and does" if len(self.rivals) == 1 else "also name it and do"
            waits = f"{_names(self.rivals)} {also} not get it"
            return no(aspect, Reason.OWN_GROUP, f"consumer group {self.group} is this resource's alone; {waits}")
        return no(aspect, Reason.OWN_GROUP, f"no other resource names consumer group {self.group}")

    @property
    def lag(self) -> Verdict:
        """What is said of the lag while it is somebody else's."""
        whose = f"consumer group {self.group} belongs to another resource: see condition {Aspect.GROUP_SHARED}"
        return unknown(Aspect.LAG_WITHIN_TARGET, Reason.GROUP_SHARED, whose)


def sharing(observed: ObservedState, revision: str | None) -> Sharing:
    """Find who has the group; ``revision`` is the one that the spec describes."""
    mine = claim_of(observed.resource)
    if mine is None:
        return Sharing("")
    sets = observed.stateful_sets()
    runs = mine.running or any(one["spec"]["replicas"] for one in sets.values())
    mine = replace(mine, running=runs, has_run=mine.has_run or runs, revisions=frozenset({revision or "", *sets}))
    rivals = sorted(observed.rivals, key=_precedence)
    before = [one for one in rivals if _precedence(one) < _precedence(mine)]
    # Members that run beside others of the group do no harm that was not done before; those with one name throw each
    # other out for ever.
    holders = [one for one in before if not mine.running or _have_one_name(one, mine)]
    return Sharing(mine.group, tuple(rivals), holders[0] if holders else None)


def own_names(names: Iterable[str], rivals: Collection[Claim]) -> tuple[str, ...]:
    """Return names of members without those that members of another resource have in the same group."""
    theirs = tuple(f"{one.key.name}-{revision}-" for one in rivals for revision in one.revisions)
    return tuple(name for name in names if not name.startswith(theirs))


def _precedence(claim: Claim) -> tuple[bool, str, str]:
    return not claim.has_run, claim.created, claim.uid


def _have_one_name(one: Claim, other: Claim) -> bool:
    """Whether members of two resources would be called alike: they are named after resource and revision."""
    return one.key.name == other.key.name and not one.revisions.isdisjoint(other.revisions)


def _names(claims: Collection[Claim]) -> str:
    named = ", ".join(str(one.key) for one in list(claims)[:MOST_NAMED])
    return named if len(claims) <= MOST_NAMED else f"{named} and {len(claims) - MOST_NAMED} more"


def _spelt_out(address: Address, namespace: str) -> str:
    """Return an address as it is spelt in any namespace: the name of a Service alone is one of the own namespace."""
    try:
        host = ip_address(address.host).compressed
    except ValueError:
        host = address.host.lower().rstrip(".")
        host = host.removesuffix(".cluster.local").removesuffix(".svc") if "." in host else f"{host}.{namespace}"
    return str(Address(host, address.port))
