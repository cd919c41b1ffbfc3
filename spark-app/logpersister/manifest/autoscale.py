"""``spec.autoscale``: as many members as the lag asks for."""

from datetime import timedelta
from typing import Annotated

from logpersister.manifest.constraint import Duration, Model, Whole
from logpersister.manifest.rule import rule


class AutoscaleSpec(Model):
    """How the number of members follows the lag."""

    min_members: Annotated[int, Whole(1, 1000)] = 1
    """There are never fewer members. Two or more go on without a pause when one dies."""

    max_members: Annotated[int, Whole(1, 1000)]
    """There are never more members; nor more than partitions, since one member has each of those, but for
    `minMembers`."""

    target_lag: Annotated[timedelta, Duration("1s", "365d")] | None = None
    """How old the oldest record not yet stored may get before members are added. Longer than `upload.maxAge`, for which
    records wait anyway. Default: as for the condition `LagWithinTarget`, which is `spec.targetLag`, or else twice the
    `maxAge` of the topic, and a minute."""

    scale_up_stabilization: Annotated[timedelta, Duration("1s", "1h")] = timedelta(minutes=1)
    """How long the lag must be over its target, and not fall, before members are added."""

    scale_down_stabilization: Annotated[timedelta, Duration("1s", "1d")] = timedelta(minutes=10)
    """How long the lag must be well below its target before a member is taken away, and as long again before the next
    one."""

    @rule(
        "self.maxMembers >= $minMembers",
        "is less than minMembers",
        "raise it, or lower minMembers",
        "maxMembers",
    )
    def _the_bounds_leave_a_number(self) -> bool:
        return self.max_members >= self.min_members
