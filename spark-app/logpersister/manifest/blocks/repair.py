"""``spec.autoRepair``: what is done about members that hang, or whose node is lost."""

from datetime import timedelta
from typing import Annotated

from logpersister.forms.constraint import Duration, Model, Whole

MOST_RESTARTS = 10


class RepairSpec(Model):
    """What is done about a member that has partitions and makes no progress with them."""

    restart_after: Annotated[timedelta, Duration("1s", "1d")] = timedelta(minutes=10)
    """How long a member must hang before its pod is created again."""

    node_lost_after: Annotated[timedelta, Duration("1m", "1d")] | None = None
    """How long after its pod should have ended a member on a silent node is given up: its pod is deleted with `--force`
    and starts on another node. Default: never.
    """

    max_restarts_per_hour: Annotated[int, Whole(0, MOST_RESTARTS)] = 3
    """Restarts of hanging members per hour, of all members together. `0`: hanging members are only named."""
