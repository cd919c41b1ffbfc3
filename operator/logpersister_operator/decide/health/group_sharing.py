"""Whether another resource wants the same consumer group, and who of them has it. Pure.

Who has members, or had some and is paused, keeps the group, else who was made first; so that nothing which runs is
stopped by a newcomer, nor by an operator that knows of sharing when the one before did not. Members of resources that
this operator does not see are known by their names (docs/design/groups.md).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from logpersister.group.answers import GroupDescription
from logpersister_operator.crd.status import Status
from logpersister_operator.decide.conditions import Aspect, Obstacle, Verdict, no, previous_verdict, unknown, yes
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_state import Claim, OwnObjects, named
from logpersister_operator.render.instance_ids import is_of, resource_of

MOST_MEMBERS: Final = 5
"""Members of other resources that a message names."""


def share(one: Claim, other: Claim) -> bool:
    """Whether two resources want one group: of one name, at brokers of which one is the same."""
    return one.uid != other.uid and one.group == other.group and not one.brokers.isdisjoint(other.brokers)


@dataclass(frozen=True, slots=True)
class Sharing:
    """What is found about the group of a resource."""

    group: str
    namespace: str = ""
    """The namespace of the resource."""
    rivals: tuple[Claim, ...] = ()
    """Other resources that want it, those that come first first."""
    holder: Claim | None = None
    """The resource that has it, so that this one gets no members; None when it may have some."""
    foreign: tuple[str, ...] = ()
    """Members of resources that this operator does not see, by name."""
    before: Verdict | None = None
    """The verdict on foreign members that goes on to hold, because who is in the group is not known now."""

    @property
    def obstacle(self) -> Obstacle | None:
        """Why no member may run."""
        if self.holder is None:
            return None
        whose = named([self.holder.key], self.namespace)
        return Obstacle(
            Reason.GROUP_SHARED,
            f"consumer group {self.group} at these brokers belongs to {whose}, which was first; "
            "no member runs here, because both would take partitions from each other; create this resource again with "
            f"another name or another spec.kafka.groupId, or delete that one",
        )

    @property
    def verdict(self) -> Verdict:
        aspect, held = Aspect.GROUP_SHARED, self.obstacle
        if held is not None:
            return yes(aspect, held.reason, held.message)
        running = [one.key for one in self.rivals if one.running]
        if running:
            return yes(
                aspect,
                Reason.GROUP_SHARED,
                f"members of {named(running, self.namespace)} are in consumer group {self.group}, too: "
                "where a record is stored depends on the owner of its partition; create one of them again with another "
                "name or another spec.kafka.groupId",
            )
        if self.foreign:
            return yes(
                aspect,
                Reason.FOREIGN_MEMBERS,
                f"members of a resource that this operator does not see are in consumer group {self.group}, too: "
                f"{_shortlist(self.foreign)} (the uid of the resource begins with the end of the name); it is of "
                "another cluster or operator: create one of the two again with another name or another "
                "spec.kafka.groupId; or it was this one before it was created again: then they leave when their "
                "sessions end",
            )
        if self.before is not None:
            return self.before
        if self.rivals:
            also = "also names it and does" if len(self.rivals) == 1 else "also name it and do"
            waits = f"{named([one.key for one in self.rivals], self.namespace)} {also} not get it"
            return no(aspect, Reason.OWN_GROUP, f"consumer group {self.group} is this resource's alone; {waits}")
        return no(aspect, Reason.OWN_GROUP, f"no other resource names consumer group {self.group}")

    @property
    def lag(self) -> Verdict:
        """What is said of the lag while it is somebody else's."""
        whose = f"consumer group {self.group} belongs to another resource: see condition {Aspect.GROUP_SHARED}"
        return unknown(Aspect.LAG_WITHIN_TARGET, Reason.GROUP_SHARED, whose)


def sharing(
    mine: Claim | None, own: OwnObjects, rivals: Iterable[Claim], group: GroupDescription | None, before: Status
) -> Sharing:
    """Find who has the group."""
    if mine is None:
        return Sharing("")
    runs = mine.running or any(one.replicas for one in own.stateful_sets().values())
    mine = replace(mine, running=runs, has_run=mine.has_run or runs)
    others = tuple(sorted(rivals, key=_precedence))
    # Members that run beside others of the group do no harm that was not done before.
    holder = others[0] if others and _precedence(others[0]) < _precedence(mine) and not mine.running else None
    if group is None:
        known = previous_verdict(before.conditions, Aspect.GROUP_SHARED)
        is_foreign = known is not None and known.reason == Reason.FOREIGN_MEMBERS
        return Sharing(mine.group, mine.key.namespace, others, holder, before=known if is_foreign else None)
    foreign = _foreign_members(group, [mine.uid, *(one.uid for one in others)])
    return Sharing(mine.group, mine.key.namespace, others, holder, foreign)


def own_names(names: Iterable[str], rivals: Collection[Claim]) -> tuple[str, ...]:
    """Return names of members without those that members of another resource may have in the same group.

    These are called after their pod only; a name with the uid of a resource is that resource's alone.
    """
    theirs = tuple(f"{one.key.name}-{revision}-" for one in rivals for revision in one.revisions)
    return tuple(name for name in names if resource_of(name) or not name.startswith(theirs))


def _foreign_members(group: GroupDescription, seen: Sequence[str]) -> tuple[str, ...]:
    """Return the members that are called after a resource that is none of those that this operator sees, by uid."""
    names = (one.name for one in group.members if one.is_static and resource_of(one.name))
    return tuple(name for name in names if not any(is_of(name, uid) for uid in seen))


def _precedence(claim: Claim) -> tuple[bool, str, str]:
    return not claim.has_run, claim.created, claim.uid


def _shortlist(members: Sequence[str]) -> str:
    more = f" and {len(members) - MOST_MEMBERS} more" if len(members) > MOST_MEMBERS else ""
    return ", ".join(members[:MOST_MEMBERS]) + more
