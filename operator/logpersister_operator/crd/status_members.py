"""Sections of a status about members: the processes of the group, how partitions move, and who was restarted."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister_operator.field_types import Cause, Count, MapBy

MOST_MEMBERS = 50
"""Members that ``members.list`` names."""
MOST_RESTARTS = 20
"""Restarts of members that ``restarts`` names: more than there may be in an hour."""


class Member(Model):
    """One process of the group."""

    name: str
    """Name of its pod."""

    ready: bool
    """Whether its pod is ready."""

    partitions: Count | None = None
    """Partitions that it has; not set while it does not answer."""

    executors: Count | None = None
    """Spark executors that it has; not set when Spark runs inside of it."""

    revision: str | None = None
    """The revision that it runs."""


class Members(Model):
    """The processes of the group."""

    desired: Count
    """How many there shall be."""

    ready: Count
    """How many are ready, of all revisions."""

    list: Annotated[tuple[Member, ...], Field(max_length=MOST_MEMBERS), MapBy("name")] = ()
    """Each of them; of many, first those that are not ready."""


class Rebalance(Model):
    """How partitions move between members."""

    state: Annotated[str, Field(max_length=64)]
    """State of the group, as Kafka names it: Stable, PreparingRebalance, CompletingRebalance, Empty, Dead."""

    fewest_partitions: Count | None = None
    """Partitions of the member that has the fewest, by Kafka."""

    most_partitions: Count | None = None
    """Partitions of the member that has the most, by Kafka."""

    group_generation: Count | None = None
    """Kafka's own count of assignments of this group."""

    count: Count | None = None
    """Rebalances that members have seen since they started."""

    last: datetime | None = None
    """When the last one ended."""

    counted_since: datetime | None = None
    """Since when generations of the group are counted, to find storms of rebalances."""

    counted_from: Count | None = None
    """The group generation at that time."""


class Restart(Model):
    """A restart of a stalled member, or of one whose node is lost."""

    member: str
    """Name of its pod."""

    pod: Annotated[str, Field(max_length=64)]
    """The uid of the pod that was deleted."""

    time: datetime
    """When that was decided."""

    count: Annotated[int, Field(ge=1)]
    """The how many-th it was in a row: each is followed by a longer distance to the next."""

    cause: Cause
    """Why the member made no progress."""

    forced: bool | None = None
    """Whether the pod was deleted without waiting for its node, which is lost."""
