"""Folders whose time is over make records due before they have reached ``maxAge`` (``finish.storeAtEnd``). Pure.

Only records that have waited when the time was over: what comes late waits for the next end or its age, or a stream of
late records would become an object in each cycle.
"""

from dataclasses import dataclass
from typing import Self

from logpersister.manifest.spec import Spec
from logpersister.records.type_folders import AnyFolders, finished_folders


@dataclass(frozen=True, slots=True)
class FolderEnds:
    """The ends of the folders of a topic, and how long after them records are still allowed."""

    layout: AnyFolders
    lateness_ms: int

    @classmethod
    def of(cls, spec: Spec) -> Self | None:
        """Return the folder ends that matter to a topic; None: records wait for their age, whatever their folder."""
        found = finished_folders(spec)
        if found is None:
            return None
        finish, layout = found
        return cls(layout, finish.lateness_ms) if finish.store_at_end else None

    def last_over(self, now: float) -> tuple[float, float]:
        """Return the end of the last folder whose time is over, and when that was. Seconds since the epoch."""
        end = self.layout.last_end(int(now * 1000) - self.lateness_ms)
        return end / 1000, (end + self.lateness_ms) / 1000
