"""``spec.autoRepair``: what is done about members that hang."""

from datetime import timedelta
from typing import Annotated

from logpersister.manifest.constraint import Duration, Model, Whole

MOST_RESTARTS = 10


class RepairSpec(Model):
    """What is done about a member that has partitions and makes no progress with them."""

    restart_after: Annotated[timedelta, Duration("1s", "1d")] = timedelta(minutes=10)
    """How long a member must have hung before its pod is deleted and comes back under its name. The condition
    `MembersProgressing` names it before. Shorter heals sooner; but a restart takes a minute, and what is slow it makes
    slower."""

    max_restarts_per_hour: Annotated[int, Whole(0, MOST_RESTARTS)] = 3
    """How many restarts there may be in an hour, of all members together; one that hangs again is also left alone for
    longer each time. `0`: members that hang are only named."""
