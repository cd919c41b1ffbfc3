"""``spec.autoscale``: as many members as the lag asks for."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

from logpersister.forms.constraint import Duration, Model, Whole
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses


class AutoscaleSpec(Model):
    """How the number of members follows the lag."""

    min_members: Annotated[int, Whole(1, 1000)] = 1
    """Smallest number of members."""

    max_members: Annotated[int, Whole(1, 1000)]
    """Largest number of members."""

    target_lag: Annotated[timedelta, Duration("1s", "365d")] | None = None
    """Age of the oldest unstored record above which members are added; longer than `upload.maxAge`. Default:
    `spec.targetLag`.
    """

    scale_up_stabilization: Annotated[timedelta, Duration("1s", "1h")] = timedelta(minutes=1)
    """How long the lag must exceed its target, without falling, before members are added."""

    scale_down_stabilization: Annotated[timedelta, Duration("1s", "1d")] = timedelta(minutes=10)
    """How long the lag must be well below its target before a member is removed, and again before the next one."""

    @refuses
    def _the_bounds_leave_a_number(self) -> Iterator[Finding]:
        if self.max_members < self.min_members:
            yield Finding("is less than minMembers", "raise it, or lower minMembers", ("maxMembers",))
