"""Folders whose time is over make records due before they have reached ``maxAge`` (``finish.storeAtEnd``). Pure.

Only records that have waited when the time was over: what comes late waits for the next end or its age, or a stream of
late records would become an object in each cycle.
"""

from dataclasses import dataclass
from typing import Self

from logpersister.manifest.spec import Spec
from logpersister.records.type_folders import AnyFolders, folders_by_time


@dataclass(frozen=True, slots=True)
class FolderEnds:
    """The ends of the folders of a topic, and how long after them records are still allowed."""

    layout: AnyFolders
    lateness: float
    """Seconds."""

    @classmethod
    def of(cls, spec: Spec) -> Self | None:
        """Return those of the spec of a topic; None: records wait for their age, whatever their folder."""
        layout = None if spec.finish is None else folders_by_time(spec)
        if spec.finish is None or layout is None or not spec.finish.store_at_end:
            return None
        return cls(layout, spec.finish.allowed_lateness.total_seconds())

    def last_over(self, now: float) -> tuple[float, float]:
        """Return the end of the last folder whose time is over, and when that was. Seconds since the epoch."""
        end = self.layout.last_end(int((now - self.lateness) * 1000)) / 1000
        return end, end + self.lateness
