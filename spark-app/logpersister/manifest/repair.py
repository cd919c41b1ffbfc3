"""``spec.autoRepair``: what is done about members that hang, or whose node is lost."""

from datetime import timedelta
from typing import Annotated

from logpersister.manifest.constraint import Duration, Model, Whole

MOST_RESTARTS = 10


class RepairSpec(Model):
    """What is done about a member that has partitions and makes no progress with them."""

    restart_after: Annotated[timedelta, Duration("1s", "1d")] = timedelta(minutes=10)
    """How long a member must hang before its pod is created again under its name. The condition `MembersProgressing`
    names it earlier. A restart takes a minute and slows down a group that may only be slow."""

    node_lost_after: Annotated[timedelta, Duration("1m", "1d")] | None = None
    """How long after the time at which its pod should have ended a member is given up whose node does not say that it
    has: the operator then deletes the pod with `--force`, and Kubernetes starts the member on another node. Such a
    deletion counts as a restart. Kafka refuses the commits of a member that still runs on a node without network.
    Default: never."""

    max_restarts_per_hour: Annotated[int, Whole(0, MOST_RESTARTS)] = 3
    """Restarts of hanging members per hour, of all members together. The pause before the same member is restarted
    again doubles each time. `0`: hanging members are only named."""
