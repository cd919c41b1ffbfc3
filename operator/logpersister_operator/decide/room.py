"""Members for which there is no node."""

from collections.abc import Sequence
from datetime import datetime

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.decide.diagnosis import time_of, without_node
from logpersister_operator.decide.fleets import ordinal


def members_with_room(pods: Sequence[Document], members: int, since: datetime) -> int:
    """Return how many members are left without those at the end that have waited for a node since then or longer.

    Those at the end are what a StatefulSet takes away first.
    """
    waiting = {ordinal(pod) for pod in pods if (found := without_node(pod)) is not None and time_of(found) <= since}
    while members and members - 1 in waiting:
        members -= 1
    return members
