"""Publishes the content of a finished folder: its note, then the files and notifications of policies; _SUCCESS last.

Who else is to be told is noted at the end (`finish.telling`).

Everything may be repeated, by anybody and at any time. The note is a compare-and-set (`storage.finished`): who has read
older offsets, or slept meanwhile, is refused and begins anew, or changes nothing. So each number has one content. The
manifest is a copy of the note, made in the same way: its tag is read before the note is, so an older copy never
replaces a newer one.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import structlog

from logpersister.finish.folders import content_of
from logpersister.finish.positions import Positions
from logpersister.finish.watermark import at
from logpersister.manifest.blocks.finish import ARCHIVE, TELLING, FinishSpec
from logpersister.records.time_folders import TimeFolder
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.facts import ObjectFacts
from logpersister.storage.finished import (
    Arrival,
    FolderContent,
    FolderObject,
    folder_content,
    note_arrival,
    put_folder_content,
)
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import TABLE, Untold, put_untold

log = structlog.get_logger(__name__)

MOST_ATTEMPTS: Final = 5
"""Each is one more than somebody else has changed the same folder."""


class OvertakenError(Exception):
    """Others keep changing what is to be changed; later it will work."""


@dataclass(frozen=True, slots=True)
class Published:
    """Result of publishing a folder."""

    number: int
    """Version of the content; 0: it has no objects yet, and nothing was written."""
    changed: bool = False
    late_objects: int = 0
    late_records: int = 0
    """Records that came since the content of the folder was noted, and were not known before."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """Publishes the folders of one group."""

    store: ObjectStore
    group: str
    spec: FinishSpec
    registers: bool = False
    """Whether finished folders become partitions of a Hive table, which gets notes as recipients do."""
    awaits_copies: bool = False
    """Whether the success file waits for the archive in all stores; who makes that puts it (`finish.archiving`)."""
    archives_again: bool = False
    """Whether it is looked again at archives that have been made: somebody may have deleted one in a store."""

    def publish(self, topic: str, folder: TimeFolder, positions: Positions, *, late: bool) -> Published:
        """Make known what a folder has in it now.

        Args:
            positions: of the topic, where its partitions have passed the end of the folder.
            late: whether the folder was finished before, so that everything in it is late that is not noted. Otherwise
                nothing is, unless somebody has noted the content of the folder and not come to finish it.

        Raises StorageError, ForeignObjectError, OvertakenError.
        """
        for _ in range(MOST_ATTEMPTS - 1):
            with suppress(OvertakenError):
                return self._try(topic, folder, positions, late=late)
        return self._try(topic, folder, positions, late=late)

    def _try(self, topic: str, folder: TimeFolder, positions: Positions, *, late: bool) -> Published:
        copy_key = self._key(topic, folder, self.spec.manifest_name)
        copy = self.store.get_tagged(copy_key) if "manifest" in self.spec.policy else None
        noted = folder_content(self.store, self.group, topic, folder.path)
        before = () if noted is None else noted[0].objects
        found = content_of(
            self.store, self.group, topic, folder.path, positions, {object_.name: object_ for object_ in before}
        )
        for facts in found.pending:
            self._note_pending(facts, folder)
        if noted is None and not found.final:
            return Published(0)
        came = {it for it in set(found.final) - set(before) if not found.current.is_replayed(it.partition, it.start)}
        # Readers have a content as soon as it is noted, though whoever noted it died, and has not finished the folder.
        late = late or noted is not None
        records = sum(one.records for one in came) if late else 0
        content = _next(topic, folder, None if noted is None else noted[0], found.final, positions, records)
        changed = noted is None or content != noted[0]
        if self.archives_again and ARCHIVE in content.told:
            content = replace(content, told={name: one for name, one in content.told.items() if name != ARCHIVE})
        is_news = noted is None or content != noted[0]
        if is_news and not put_folder_content(self.store, self.group, content, None if noted is None else noted[1]):
            raise self._overtaken(topic, folder)
        outdated = "manifest" in self.spec.policy and (copy is None or copy[0] != content.document())
        if outdated and not self.store.replace_json(copy_key, content.document(), None if copy is None else copy[1]):
            raise self._overtaken(topic, folder)
        self._put_markers(topic, folder, positions)
        told = [*sorted(TELLING.intersection(self.spec.policy)), *([TABLE] if self.registers else [])]
        for policy in told:
            if content.told.get(policy, 0) < content.number:
                put_untold(self.store, self.group, policy, topic, Untold(folder.path, content.number))
        return Published(content.number, changed, len(came) if late else 0, records)

    def mark_done(self, topic: str, folder: TimeFolder, partitions: Iterable[int]) -> None:
        """Say of partitions that all is stored that they have of a folder. Raises StorageError."""
        keys = (self._key(topic, folder, f".{partition}.done") for partition in partitions)
        for _ in ask_each(self.store.put_marker, keys):
            pass

    def _put_markers(self, topic: str, folder: TimeFolder, positions: Positions) -> None:
        if "done" in self.spec.policy:
            self.mark_done(topic, folder, sorted(positions.ends))
        if "successFile" in self.spec.policy and not self.awaits_copies:
            self.mark_finished(topic, folder)

    def mark_finished(self, topic: str, folder: TimeFolder) -> None:
        """Put the success file. Raises StorageError."""
        self.store.put_marker(self._key(topic, folder, self.spec.success_file_name))

    def _overtaken(self, topic: str, folder: TimeFolder) -> OvertakenError:
        return OvertakenError(f"folder {folder.path} of topic {topic} is being changed by another process")

    def _note_pending(self, facts: ObjectFacts, folder: TimeFolder) -> None:
        """Note an object that is there but not committed: it was perhaps stored before its folder could be finished."""
        arrival = Arrival(facts.range, facts.generation, (folder.path,))
        note_arrival(self.store, self.group, arrival)
        log.debug("folder.pending", topic=facts.range.partition.topic, folder=folder.path, range=str(facts.range))

    def _key(self, topic: str, folder: TimeFolder, name: str) -> str:
        return f"{names.topic_prefix(self.store.prefix, topic)}{folder.path}/{name}"


def _next(
    topic: str,
    folder: TimeFolder,
    noted: FolderContent | None,
    objects: tuple[FolderObject, ...],
    positions: Positions,
    late_records: int,
) -> FolderContent:
    """Return what is to be noted of a folder; the same as before when it has the same objects."""
    if noted is None:
        return FolderContent(topic, folder.path, at(folder.end), 1, positions.offsets(), objects, late_records)
    if objects == noted.objects:
        return noted
    offsets = {
        partition: max(noted.offsets.get(partition, 0), offset) for partition, offset in positions.offsets().items()
    }
    return replace(
        noted,
        number=noted.number + 1,
        offsets={**noted.offsets, **offsets},
        objects=objects,
        late_records=noted.late_records + late_records,
    )
