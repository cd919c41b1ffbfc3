"""Which revisions run, with how many members.

A new revision gets all its members beside the old one: both are in one group, which shares partitions out among them,
and two members at once are harmless (docs/design/intents.md). The old one goes when all of the new are ready. A new
revision that never gets ready so never takes the place of one that works.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logpersister_operator.cluster.kinds import Document


@dataclass(frozen=True, slots=True)
class Handover:
    """What shall be."""

    members: int
    """Of the wanted revision."""
    leave: tuple[Document, ...]
    """StatefulSets of other revisions that go on as they are."""
    remove: tuple[Document, ...]
    """StatefulSets of other revisions that are no longer needed."""

    @property
    def complete(self) -> bool:
        return not self.leave and not self.remove


def hand_over(wanted: str, members: int, stateful_sets: Mapping[str, Document]) -> Handover:
    """Decide for the wanted revision, its number of members (0: paused), and the StatefulSets by revision."""
    others = tuple(found for revision, found in sorted(stateful_sets.items()) if revision != wanted)
    ours = stateful_sets.get(wanted)
    takes_over = members == 0 or (ours is not None and ready_members(ours) >= members)
    return Handover(members, leave=() if takes_over else others, remove=others if takes_over else ())


def ready_members(stateful_set: Mapping[str, Any]) -> int:
    """Return how many members are ready by what Kubernetes says of the present template; 0 while it is catching up."""
    status = stateful_set.get("status") or {}
    if status.get("observedGeneration", 0) < stateful_set["metadata"].get("generation", 0):
        return 0
    if status.get("updateRevision") != status.get("currentRevision"):
        return int(min(status.get("updatedReplicas", 0), status.get("readyReplicas", 0)))
    return int(status.get("readyReplicas", 0))
