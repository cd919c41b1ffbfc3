"""Batches: groups that are asked about together, and how often. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, Self, TypeVar

from logpersister.backoff import Backoff

Key = TypeVar("Key")

EARLY: Final = 0.2
"""Share of its pause by which a group may be asked too early, to be in one batch with others."""
MOST_PARTITIONS: Final = 2_500
"""Most partitions of a batch, which bounds the memory for its answers. A single group may have more."""
GUESSED_PARTITIONS: Final = 100
"""Assumed for a group that was never asked: all groups of an operator that begins must not be one batch."""
LARGEST_SHARE: Final = 0.1
"""Share of the time during which the operator may ask about lag."""
LONGEST: Final = 10.0
"""How many times longer than set the pauses may get."""


@dataclass(frozen=True, slots=True)
class Due:
    """When a group is to be asked."""

    at: float
    not_before: float
    """The group may be asked from this time on if others are."""
    partitions: int = GUESSED_PARTITIONS
    """How many it had when it was asked last."""

    @classmethod
    def after(cls, now: float, pause: float, partitions: int) -> Self:
        """Return when a group is due that was just asked."""
        return cls(now + pause, now + pause * (1 - EARLY), partitions)


@dataclass(frozen=True, slots=True)
class Batch(Generic[Key]):
    """The groups to ask now."""

    keys: tuple[Key, ...]
    """The groups to ask; the one that is due longest comes first."""
    wait: float
    """If there are none: in how many seconds there will be one."""


def next_batch(groups: Mapping[Key, Due], now: float) -> Batch[Key]:
    """Choose from all groups of one client those that are due at a time, and with them who will be soon."""
    first = min((due.at for due in groups.values()), default=math.inf)
    if first > now:
        return Batch((), first - now)
    chosen: list[Key] = []
    partitions = 0
    for key in sorted((key for key, due in groups.items() if due.not_before <= now), key=lambda key: groups[key].at):
        partitions += groups[key].partitions
        if chosen and partitions > MOST_PARTITIONS:
            break
        chosen.append(key)
    return Batch(tuple(chosen), 0.0)


def pause(seconds: float, asking: float, failures: int) -> float:
    """Return how long a group is not asked.

    Args:
        seconds: the pause that is set.
        asking: for how long all groups together are asked once.
        failures: how often in a row the lag of this group was not known.
    """
    if failures:
        return Backoff(seconds / 6, seconds * 4).pause(failures)
    return min(LONGEST * seconds, max(seconds, asking / LARGEST_SHARE))
