"""Late records: those whose folder by time was finished before their range was promised.

The watermark of finished folders rises while a range is executed, and two processes may know different ones. So the
promise of a range has one, its *horizon* (`plan.intents`): a record is late if its folder ended there or before. Then
lateness depends on record, revision and promise alone, and a repeated execution puts each record where it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.records.escaping import QUARANTINE, late_path
from logpersister.records.paths import Assignment
from logpersister.records.type_folders import AnyFolders
from logpersister.values.reading.parsers import refused_with

RULES: Final = 1
"""Raise it when a record counts as late that did not before, or goes elsewhere."""

CAME_LATE: Final = "late"
"""Why a record is in quarantine that the parser has not refused."""

Marks = npt.NDArray[np.bool_]


class Places(Protocol):
    """Knows where late records belong."""

    def place(self, found: Assignment) -> Assignment:
        """Return the assignment with late records in their own paths."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """Decides which records of a range came late, and where they go. Picklable."""

    folders: AnyFolders
    horizon: int
    """Records of folders that ended at this instant or before it came late (milliseconds since the epoch)."""
    to_quarantine: bool
    """Whether they go to quarantine; else below a folder of their own."""
    _known: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)
    """Answers by path: a range has few paths, and each batch has them again."""

    def is_late(self, path: str) -> bool:
        """Whether records came late that have this path by ``partitionBy``."""
        found = self._known.get(path)
        if found is None:
            folder = self.folders.folder_of(path)
            found = self._known[path] = folder is not None and folder.end <= self.horizon
        return found

    def place(self, found: Assignment) -> Assignment:
        paths = found.paths if found.refused is None else found.paths[:-1]
        late: Marks = np.array([self.is_late(path) for path in paths], np.bool_)
        if not late.any():
            return found
        if self.to_quarantine:
            return _refused(found, paths, late)
        moved = [late_path(path) if is_late else path for path, is_late in zip(paths, late, strict=True)]
        return replace(found, paths=[*moved, *found.paths[len(paths) :]])


def _refused(found: Assignment, paths: Sequence[str], late: Marks) -> Assignment:
    came_late = np.append(late, False)[found.indices]
    accepted = found.indices < len(paths)
    rows = None if found.rows is None else found.rows.filter(pa.array(~came_late[accepted], pa.bool_()))
    refused = refused_with(found.refused, np.flatnonzero(came_late), CAME_LATE)
    left = [path for path, is_late in zip(paths, late, strict=True) if not is_late]
    number = np.full(len(paths) + 1, len(left), np.int32)  # that of quarantine, which is the last
    number[:-1][~late] = np.arange(len(left), dtype=np.int32)
    adjusted = None if found.adjusted is None else found.adjusted.only(~came_late)
    indices = number[found.indices]
    return replace(found, paths=[*left, QUARANTINE], indices=indices, refused=refused, rows=rows, adjusted=adjusted)
