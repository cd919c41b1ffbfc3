"""Notes folders that have objects, so that their registration in a table need not search for them (`tables.hive`)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog

from logpersister.manifest.rules.table_rules import registration
from logpersister.manifest.spec import Spec
from logpersister.pipeline.range_results import RangeResults
from logpersister.records.escaping import is_aside
from logpersister.report.facts import WrittenObject
from logpersister.storage.names import parse_object_key
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import TABLE, Untold, put_untold

log = structlog.get_logger(__name__)

MOST_KNOWN: Final = 50_000
"""Folders that a process remembers as noted; then it begins anew, and notes some again."""


@dataclass(frozen=True, slots=True)
class FolderNotes:
    """Notes each folder once per process: it is a partition, or will be one, as soon as it is noted."""

    store: ObjectStore
    group: str
    _noted: set[tuple[str, str]] = field(default_factory=set)

    def leave(self, writer: RangeResults) -> None:
        """Note the folders of a range; waits for its objects. Raises StorageError, also where an object failed."""
        self.note(writer.objects())

    def note(self, objects: Iterable[WrittenObject]) -> None:
        """Note the folders of objects that are stored. Raises StorageError."""
        names = (parse_object_key(self.store.prefix, one.key) for one in objects)
        folders = {(name.topic, name.path) for name in names if name is not None}
        for topic, path in sorted(folders - self._noted):
            if path and not is_aside(path):
                self._put(topic, path)
            if len(self._noted) >= MOST_KNOWN:
                self._noted.clear()
            self._noted.add((topic, path))

    def _put(self, topic: str, path: str) -> None:
        try:
            put_untold(self.store, self.group, TABLE, topic, Untold(path, 0))
        except ValueError as error:  # a long path below a long prefix: its objects have shorter names
            log.warning("folder.not_noted", topic=topic, folder=path, error=str(error))


def folder_notes(store: ObjectStore, group: str, spec: Spec) -> FolderNotes | None:
    """Return the writer of folder notes of a revision; None: no table registers folders by their first object."""
    return FolderNotes(store, group) if registration(spec) == "onFirstObject" else None
