"""``spec.autoscale``: as many members as the lag asks for."""

from datetime import timedelta
from typing import Annotated

from logpersister.manifest.constraint import Duration, Model, Whole
from logpersister.manifest.rule import rule


class AutoscaleSpec(Model):
    """How the number of members follows the lag."""

    min_members: Annotated[int, Whole(1, 1000)] = 1
    """Smallest number of members. With two or more, storing continues without a pause when one dies."""

    max_members: Annotated[int, Whole(1, 1000)]
    """Largest number of members. There are never more than partitions, except for `minMembers`."""

    target_lag: Annotated[timedelta, Duration("1s", "365d")] | None = None
    """Age of the oldest unstored record above which members are added; longer than `upload.maxAge`. Default:
    `spec.targetLag`.
    """

    scale_up_stabilization: Annotated[timedelta, Duration("1s", "1h")] = timedelta(minutes=1)
    """How long the lag must exceed its target, without falling, before members are added."""

    scale_down_stabilization: Annotated[timedelta, Duration("1s", "1d")] = timedelta(minutes=10)
    """How long the lag must be well below its target before a member is removed, and again before the next one."""

    @rule(
        "self.maxMembers >= $minMembers",
        "is less than minMembers",
        "raise it, or lower minMembers",
        "maxMembers",
    )
    def _the_bounds_leave_a_number(self) -> bool:
        return self.max_members >= self.min_members
