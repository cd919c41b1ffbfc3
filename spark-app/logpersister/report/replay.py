"""How far a replay is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """Offsets of a replay. Processes that share one have partitions of their own: the sum of `stored` counts."""

    offsets: int
    """All that are stored again, by whomever."""
    stored: int
    """Those of this member's partitions that are stored and committed."""
