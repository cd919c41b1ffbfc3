"""Members for which there is no node."""

from collections.abc import Sequence
from datetime import datetime

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.decide.fleets import ordinal


def members_with_room(pods: Sequence[Document], members: int, since: datetime) -> int:
    """Return how many members are left without those at the end that have waited for a node since then or longer.

    Those at the end are what a StatefulSet takes away first.
    """
    waiting = {ordinal(pod) for pod in pods if _waits_since(pod, since)}
    while members and members - 1 in waiting:
        members -= 1
    return members


def _waits_since(pod: Document, since: datetime) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(
        one["type"] == "PodScheduled"
        and one["status"] == "False"
        and datetime.fromisoformat(one["lastTransitionTime"]) <= since
        for one in conditions
    )
