"""The members of one revision, as Kubernetes reports them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fleet:
    """Members of one revision."""

    wanted: int = 0
    """Replicas of its StatefulSet."""
    pods: frozenset[int] = frozenset()
    """Ordinals of pods that exist, those on their way out too, except for those whose node does not answer any more."""
    ready: int = 0
    sick: str = ""
    """Why one of them does not run and will not by itself, in words; empty when nothing is known to be wrong."""
    lasting: bool = True
    """Whether none of them has been ready for a while: a single probe that fails says nothing."""
    waits: str = ""
    """Why one of them waits for something outside of it, such as a node with room."""

    @property
    def occupied(self) -> int:
        """How many members there are or will be without another word."""
        return self.occupied_with(self.wanted)

    def occupied_with(self, wanted: int) -> int:
        """Return how many there would be with so many replicas: a StatefulSet takes the highest ordinals away."""
        return wanted + sum(ordinal >= wanted for ordinal in self.pods)

    @property
    def is_gone(self) -> bool:
        return self.occupied == 0

    @property
    def is_broken(self) -> bool:
        """Whether none of its members works, for a reason that waiting does not cure."""
        return self.ready == 0 and bool(self.sick) and self.lasting


NONE = Fleet()
