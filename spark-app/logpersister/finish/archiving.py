"""Makes one archive of each finished folder: a recipient of `finish.telling` (docs/design/archives.md).

An archive is of one number of a folder, whose note lists the objects. So whoever makes it makes the same files, and it
may be made again at any time. It is put by compare-and-set on the version that was there, which has a lower number: a
process that has slept meanwhile takes nothing back. What the version before has of objects that were deleted since
(`logpersister delete`, lifecycle rules) stays in the next one.

A folder counts as archived when the copies of the store have the archive, too. They get the bytes of the primary one by
the same rules; the success file comes then.
"""

import json
from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import structlog

from logpersister.finish.archive_versions import NUMBER, Versions, base_of, delete_before, newest_of, put, versions_of
from logpersister.finish.copying import Copying, using
from logpersister.finish.telling import Message, RefusedError, Send
from logpersister.finish.watermark import at
from logpersister.formats.archive.consolidation import MANIFEST, Consolidation, hash_of
from logpersister.formats.archive.entries import Entry, seconds_of
from logpersister.formats.archive.read import compression_of, entries_in, files_in
from logpersister.formats.archive.write import ArchiveFormat, consolidated
from logpersister.formats.compression import compressor
from logpersister.formats.damage import ContentError, damage_told
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.finish import ARCHIVE
from logpersister.manifest.spec import Spec
from logpersister.records.escaping import escape, shortened
from logpersister.records.time_folders import TimeFolder, time_folders
from logpersister.storage import names
from logpersister.storage.copies import Copy
from logpersister.storage.errors import StorageError
from logpersister.storage.finished import FolderContent
from logpersister.storage.losses import Loss, list_losses
from logpersister.storage.store import ObjectStore, ObjectWriter

log = structlog.get_logger(__name__)

LABEL_BYTES: Final = 190
"""Longest label: with time, hash and extension it is a name that each file system takes."""


@dataclass(frozen=True, slots=True)
class Archiver:
    """A `finish.telling.Teller` that puts archives into the bucket."""

    store: ObjectStore
    resource: LogPersister
    copies: Sequence[Copy] = ()

    policy = ARCHIVE

    @contextmanager
    def session(self) -> Iterator[Send]:
        """List the losses once for a few folders. Raises StorageError."""
        losses = [*list_losses(self.store, self.resource.group_id)]
        copying = Copying(self.store, self.resource.group_id, self.copies)
        yield lambda message: self._archive(message, losses, copying)

    def _archive(self, message: Message, losses: Sequence[Loss], copying: Copying) -> None:
        """Make the archive of a folder in all stores.

        Raises NotTakenError, StorageError; RefusedError where it cannot be made.
        """
        try:
            chosen = self._chosen(message.content)
            self._archive_in_primary(chosen, message.content, losses, copying)
        except ContentError as error:
            raise RefusedError(f"folder {message.key}: an archive in it cannot be read: {error}") from None
        except StorageError as error:
            if error.code != "NoSuchKey":
                raise
            raise RefusedError(f"folder {message.key}: {error}; an archive without its records would be less") from None
        if self.copies:
            copying.copy(message.content, chosen.file)
            self._mark(message.content)

    def _archive_in_primary(
        self, chosen: "_Chosen", content: FolderContent, losses: Sequence[Loss], copying: Copying
    ) -> None:
        versions = versions_of(self.store, self.resource.group_id, base_of(self.store, content, chosen.file))
        newest = newest_of(versions)
        if newest is not None and versions[newest].number >= content.number:
            delete_before(self.store, versions, versions[newest].number)
        elif newest is not None:
            self._make(chosen, content, losses, versions, self._files(self.store, newest))
        elif content.objects:  # else all was deleted, and the archive with it
            # A lifecycle rule may have left the version before in a copy alone.
            copied = copying.newest(content, chosen.file) if content.number > 1 else None
            before = None if copied is None else self._files_of_copy(*copied)
            self._make(chosen, content, losses, versions, before)

    def _mark(self, content: FolderContent) -> None:
        """Put the success file, which waits for the copies. Raises StorageError."""
        finish = self.resource.spec.finish
        if finish is not None and "successFile" in finish.policy:
            root = names.topic_prefix(self.store.prefix, content.topic)
            self.store.put_marker(f"{root}{content.path}/{finish.success_file_name}")

    def _chosen(self, content: FolderContent) -> "_Chosen":
        spec = self.resource.spec.for_topic(content.topic)
        folder = None if (layout := time_folders(spec.output.partition_by)) is None else layout.folder_of(content.path)
        if layout is None or folder is None or spec.output.archive is None:
            raise RefusedError(f"folder {content.path} of topic {content.topic}: the manifest has no such archives now")
        root = f"{names.topic_prefix(self.store.prefix, content.topic)}{content.path}/"
        other = next((one.name for one in content.objects if compression_of(one.name) is None), None)
        if other is not None:
            raise RefusedError(f"folder {content.path} of topic {content.topic}: {other} in it is no archive")
        begin = layout.begin_of(folder)
        label = label_of(spec, content.topic, folder, layout.above)
        form = "%Y%m%dT%H%MZ" if layout.granularity == "minute" else "%Y%m%dT%HZ"
        file = f"{label}_{datetime.fromtimestamp(begin / 1000, UTC):{form}}"
        sources = [root + one.name for one in content.objects]
        return _Chosen(sources, ArchiveFormat(spec.output.archive), file, begin, folder.end)

    def _entries(self, key: str) -> Iterator[Entry]:
        with closing(self.store.read(key)) as pieces:
            yield from entries_in(compression_of(key) or "none", pieces)

    def _make(
        self,
        chosen: "_Chosen",
        content: FolderContent,
        losses: Sequence[Loss],
        versions: Versions,
        before: "_Open | None",
    ) -> None:
        """Make an archive in the place of versions; `before` opens the files of the last one in any store."""
        made = Consolidation()
        for key in chosen.sources:
            made.add_source(self._entries(key))
        files = made.files()
        found = {name for of_record in files.values() for name, _ in of_record}
        kept = _NOTHING if before is None else _kept(before, content, found)
        hash_ = hash_of([*found, *kept.names])
        manifest = {
            "topic": content.topic,
            "folder": content.path,
            "begin": at(chosen.begin),
            "end": content.end,
            "number": content.number,
            "hash": hash_,
            "files": len(found) + len(kept.names),
            "replicas": made.replicas(),
            "missing": missing(content, losses),
            "missedPolls": made.missed_polls(kept.missed),
            "sources": [*kept.sources, *({"name": one.name, "records": one.records} for one in content.objects)],
        }
        named = f"_{hash_}" if chosen.format.settings.naming == "hashed" else ""
        key = f"{base_of(self.store, content, chosen.file)}{named}{chosen.format.extension}"
        again = (one for one in before() if one[0] in kept.names) if before and kept.names else ()
        sources = map(self._entries, chosen.sources)
        bytes_ = consolidated(manifest, seconds_of(chosen.end), files, sources, again)
        metadata = {"group": self.resource.group_id, NUMBER: str(content.number), "hash": hash_}
        fill = partial(_compress, bytes_, chosen.format)
        put(self.store, key, metadata, chosen.format.content_type, versions.get(key), fill)
        self.store.delete_all([other for other in versions if other != key])
        log.info("folder.archived", topic=content.topic, folder=content.path, number=content.number, key=key)

    def _files(self, store: ObjectStore, key: str) -> "_Open":
        def files() -> Generator[_File, None, None]:
            with closing(store.read(key)) as pieces:
                yield from files_in(compression_of(key) or "none", pieces)

        return files

    def _files_of_copy(self, copy: Copy, key: str) -> "_Open":
        def files() -> Generator[_File, None, None]:
            with using(copy), closing(self._files(copy.store, key)()) as found:
                yield from found

        return files


_File = tuple[str, int, bytes]
"""Name, time in seconds since the epoch, and content of a file."""
_Open = Callable[[], Generator[_File, None, None]]


def _kept(before: _Open, content: FolderContent, found: Container[str]) -> "_Kept":
    """Return what a new version takes from the one before: what was made of objects that were deleted since."""
    with closing(before()) as files:
        name, _, value = next(files, ("", 0, b""))
        there = {one.name for one in content.objects}
        with damage_told("archive"):
            said = json.loads(value) if name == MANIFEST else {"sources": ()}
            gone = [one for one in said["sources"] if one["name"] not in there]
            missed = said.get("missedPolls", ())  # earlier releases do not say it
        names_ = frozenset(one for one, _, _ in files if one not in found)
        return _Kept(gone, names_, missed) if gone else _NOTHING


def _compress(content: Iterator[bytes], format_: ArchiveFormat, writer: ObjectWriter) -> None:
    """Write an archive, compressed on the way."""
    stream = compressor(format_.settings.compression)
    for piece in content:
        for ready in stream.write(piece):
            writer.write(ready)
    for ready in stream.finish():
        writer.write(ready)


@dataclass(frozen=True, slots=True)
class _Chosen:
    sources: Sequence[str]
    format: ArchiveFormat
    file: str
    """Name of its object, up to the hash or the extension."""
    begin: int
    end: int
    """Time of its folder, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """Files of an archive that stand in the next version, too."""

    sources: Sequence[Mapping[str, Any]]
    names: frozenset[str]
    missed: Sequence[Mapping[str, Any]] = ()


_NOTHING: Final = _Kept((), frozenset())


def label_of(spec: Spec, topic: str, folder: TimeFolder, above: int) -> str:
    """Return what names of archives of a folder begin with: the values of the levels above the date, or the topic.

    A label that is too long for a name of a file is cut, and ends with a digest of the whole one.
    """
    levels = zip(folder.path.split("/")[:above], spec.output.partition_by, strict=False)
    label = "_".join(segment.removeprefix(level.folder_prefix) for segment, level in levels) or escape(topic)
    return shortened(label, LABEL_BYTES, label.encode())


def missing(content: FolderContent, losses: Sequence[Loss]) -> list[Mapping[str, Any]]:
    """Return what was lost or skipped of the partitions of a folder, from its first record to where it was finished."""
    first: dict[int, int] = {}
    for one in content.objects:
        first[one.partition] = min(one.start, first.get(one.partition, one.start))
    return [
        {"partition": partition, "start": one.range.start, "end": one.range.end, "cause": str(one.cause)}
        for one in losses
        if (partition := one.range.partition.partition) in first
        and one.range.partition.topic == content.topic
        and first[partition] <= one.range.end
        and one.range.start < content.offsets.get(partition, 0)
    ]
