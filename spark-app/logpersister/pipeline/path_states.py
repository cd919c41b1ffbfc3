"""States of a range's partition paths: a number, a state and a size of each, in arrays, as there may be many."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]

_FIRST_CAPACITY: Final = 16


class State(IntEnum):
    """State of a path: what happens to its rows."""

    HELD = 0
    """Rows wait in memory until the pass ends."""
    STREAMED = 1
    """Rows are encoded and uploaded as they come."""
    LEFT = 2
    """Rows are skipped; a further pass writes them."""
    ENDED = 3
    """Rows are skipped; the object is written."""


class PathStates:
    """The paths of a range, numbered from 0 in the order in which they are met."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._ids: dict[str, int] = {}
        self._states = np.zeros(_FIRST_CAPACITY, np.int8)
        self._sizes = np.zeros(_FIRST_CAPACITY)
        self.progress = 1.0
        """Share of the range of which `sizes` tell."""

    def ids(self, paths: Sequence[str]) -> Ids:
        """Return the numbers of paths; new ones are held."""
        found = [self._ids.get(path, -1) for path in paths]
        if -1 in found:
            for path in paths:
                if path not in self._ids:
                    self._ids[path] = len(self._paths)
                    self._paths.append(path)
            found = [self._ids[path] for path in paths]
            while len(self._states) < len(self._paths):
                self._states = np.append(self._states, np.zeros_like(self._states))
                self._sizes = np.append(self._sizes, np.zeros_like(self._sizes))
        return np.array(found, np.int64)

    def path(self, of: int) -> str:
        return self._paths[of]

    def of(self, state: State) -> Ids:
        """Return the paths in a state."""
        return np.flatnonzero(self.states == state)

    @property
    def states(self) -> npt.NDArray[np.int8]:
        """State of each path, by its number; to be changed in place."""
        return self._states[: len(self._paths)]

    @property
    def sizes(self) -> npt.NDArray[np.float64]:
        """Bytes that the rows met so far take in memory, by number; to be changed in place."""
        return self._sizes[: len(self._paths)]

    def estimates(self, ids: Ids) -> npt.NDArray[np.float64]:
        """Return what the rows of paths will take at the end of the range, if it goes on as it began."""
        return self.sizes[ids] / min(max(self.progress, 1e-9), 1.0)
