"""Notes ranges that have come into folders which may be finished already, for the duty that publishes these anew.

No folder is finished before its end and the lateness that is allowed have passed by the clock. So an object that is
stored before that is there when its folder is listed, and needs no note. One that is stored later may be late, and the
range counts as stored once that is noted.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from logpersister.manifest.spec import Spec
from logpersister.pipeline.work import RangeWork
from logpersister.records.type_folders import AnyFolders, finished_folders
from logpersister.report.facts import WrittenObject
from logpersister.storage import names
from logpersister.storage.finished import Arrival, note_arrival
from logpersister.storage.store import ObjectStore

CLOCKS_MS: Final = 60_000
"""Largest difference between the clocks of members and executors. Beyond it, a record that comes late may be
missing from the content of its folder until the folder changes again; it is stored all the same."""

NoteArrivals = Callable[[RangeWork, Iterable[WrittenObject]], None]
"""Called when the objects of a range are durable. Raises StorageError."""


@dataclass(frozen=True, slots=True)
class ArrivalNotes:
    """Notes the arrivals of one group and revision."""

    store: ObjectStore
    group: str
    layout: AnyFolders
    lateness_ms: int
    now: Callable[[], float] = time.time

    def __call__(self, work: RangeWork, objects: Iterable[WrittenObject]) -> None:
        names_of = (names.parse_object_key(self.store.prefix, one.key) for one in objects)
        folders = {self.layout.folder_of(name.path) for name in names_of if name is not None}
        over = int(self.now() * 1000) + CLOCKS_MS - self.lateness_ms
        paths = sorted(folder.path for folder in folders if folder is not None and folder.end <= over)
        if paths:
            note_arrival(self.store, self.group, Arrival(work.range, work.generation, tuple(paths)))


def arrival_notes(store: ObjectStore, group: str, spec: Spec) -> NoteArrivals | None:
    """Return what notes the arrivals of a revision; None: it finishes no folders."""
    found = finished_folders(spec)
    if found is None:
        return None
    finish, layout = found
    return ArrivalNotes(store, group, layout, finish.lateness_ms)
