"""Makes one archive of each finished folder: a recipient of `finish.telling` (docs/design/archives.md).

An archive is of one number of a folder, whose note lists the objects. So whoever makes it makes the same files, and it
may be made again at any time. It is put by compare-and-set on the version that was there, which has a lower number: a
process that has slept meanwhile takes nothing back. What the version before has of objects that were deleted since
(`logpersister delete`, lifecycle rules) stays in the next one.
"""

import json
from collections.abc import Container, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from logpersister.finish.telling import Message, NotTakenError, RefusedError, Send
from logpersister.finish.watermark import at
from logpersister.formats.archive.consolidation import MANIFEST, Consolidation, hash_of
from logpersister.formats.archive.entries import Entry, seconds_of
from logpersister.formats.archive.read import compression_of, entries_in, files_in
from logpersister.formats.archive.write import ArchiveFormat, consolidated
from logpersister.formats.compression import compressor
from logpersister.formats.damage import ContentError, damage_told
from logpersister.manifest import LogPersister
from logpersister.manifest.spec import Spec
from logpersister.records.escaping import escape, shortened
from logpersister.records.time_folders import TimeFolder, time_folders
from logpersister.storage import names
from logpersister.storage.errors import StorageError
from logpersister.storage.finished import FolderContent
from logpersister.storage.losses import Loss, list_losses
from logpersister.storage.store import ObjectStore

log = structlog.get_logger(__name__)

POLICY: Final = "archive"
NUMBER: Final = "number"
"""Metadata of an archive: which number of its folder it is of."""
LABEL_BYTES: Final = 190
"""Longest label: with time, hash and extension it is a name that each file system takes."""


@dataclass(frozen=True, slots=True)
class Archiver:
    """A `finish.telling.Teller` that puts archives into the bucket."""

    store: ObjectStore
    resource: LogPersister

    policy = POLICY

    @contextmanager
    def session(self) -> Iterator[Send]:
        """List the losses once for a few folders. Raises StorageError."""
        losses = [*list_losses(self.store, self.resource.group_id)]
        yield lambda message: self._archive(message, losses)

    def _archive(self, message: Message, losses: Sequence[Loss]) -> None:
        """Make the archive of a folder. Raises NotTakenError, StorageError; RefusedError where it cannot be made."""
        content = message.content
        try:
            chosen = self._chosen(content)
            listed = [one.key for one in self.store.list_objects(chosen.base)]
            versions = {key: one for key in listed if (one := self._version(key)) is not None}
            newest = max(versions, key=lambda key: versions[key].number, default=None)
            if newest is not None and versions[newest].number >= content.number:
                # Deleted here, too: perhaps who made it was stopped before.
                number = versions[newest].number
                self.store.delete_all([key for key, one in versions.items() if one.number < number])
                return
            if newest is None and not content.objects:
                return  # all was deleted, and the archive with it
            self._make(chosen, content, losses, versions, newest)
        except ContentError as error:
            raise RefusedError(f"folder {message.key}: an archive in it cannot be read: {error}") from None
        except StorageError as error:
            if error.code != "NoSuchKey":
                raise
            raise RefusedError(f"folder {message.key}: {error}; an archive without its records would be less") from None

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
        base = f"{label}_{datetime.fromtimestamp(begin / 1000, UTC):{form}}"
        try:
            key = names.archive_key(self.store.prefix, content.topic, content.path, base)
        except ValueError as error:
            raise RefusedError(
                f"folder {content.path} of topic {content.topic}: its archive has no name: {error}"
            ) from None
        sources = [root + one.name for one in content.objects]
        return _Chosen(sources, ArchiveFormat(spec.output.archive), key, begin, folder.end)

    def _entries(self, key: str) -> Iterator[Entry]:
        with closing(self.store.read(key)) as pieces:
            yield from entries_in(compression_of(key) or "none", pieces)

    def _make(
        self,
        chosen: "_Chosen",
        content: FolderContent,
        losses: Sequence[Loss],
        versions: "Mapping[str, _Version]",
        newest: str | None,
    ) -> None:
        made = Consolidation()
        for key in chosen.sources:
            made.add_source(self._entries(key))
        files = made.files()
        found = {name for of_record in files.values() for name, _ in of_record}
        kept = _NOTHING if newest is None else self._kept(newest, content, found)
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
            "sources": [*kept.sources, *({"name": one.name, "records": one.records} for one in content.objects)],
        }
        named = f"_{hash_}" if chosen.format.settings.naming == "hashed" else ""
        key = f"{chosen.base}{named}{chosen.format.extension}"
        again = (one for one in self._files(newest) if one[0] in kept.names) if newest and kept.names else ()
        sources = map(self._entries, chosen.sources)
        bytes_ = consolidated(manifest, seconds_of(chosen.end), files, sources, again)
        metadata = {"group": self.resource.group_id, NUMBER: str(content.number), "hash": hash_}
        self._put(key, chosen.format, metadata, bytes_, versions.get(key))
        self.store.delete_all([other for other in versions if other != key])
        log.info("folder.archived", topic=content.topic, folder=content.path, number=content.number, key=key)

    def _kept(self, key: str, content: FolderContent, found: Container[str]) -> "_Kept":
        """Return what a new version takes from the one before: what was made of objects that were deleted since."""
        with closing(self._files(key)) as files:
            name, _, value = next(files, ("", 0, b""))
            there = {one.name for one in content.objects}
            with damage_told("archive"):
                sources = json.loads(value)["sources"] if name == MANIFEST else ()
            gone = [one for one in sources if one["name"] not in there]
            return _Kept(gone, frozenset(one for one, _, _ in files if one not in found)) if gone else _NOTHING

    def _files(self, key: str) -> Generator[tuple[str, int, bytes], None, None]:
        with closing(self.store.read(key)) as pieces:
            yield from files_in(compression_of(key) or "none", pieces)

    def _put(
        self,
        key: str,
        format_: ArchiveFormat,
        metadata: Mapping[str, str],
        content: Iterator[bytes],
        before: "_Version | None",
    ) -> None:
        """Put an archive in the place of a version; compress it on the way. Raises NotTakenError."""
        tag = None if before is None else before.tag
        writer = self.store.writer(
            key, metadata, content_type=format_.content_type, if_absent=tag is None, replaces=tag, sweep=tag is not None
        )
        stream = compressor(format_.settings.compression)
        try:
            for piece in content:
                for ready in stream.write(piece):
                    writer.write(ready)
            for ready in stream.finish():
                writer.write(ready)
            stored = writer.finish({})
        except BaseException:
            writer.abort()
            raise
        if stored.existing:
            raise NotTakenError(f"archive {key!r} is being made by another process")

    def _version(self, key: str) -> "_Version | None":
        """Return which number an archive is of; None: it was deleted a moment ago. Raises RefusedError for others'."""
        found = self.store.imprint(key)
        if found is None:
            return None
        number = found.metadata.get(NUMBER, "")
        if found.metadata.get("group") != self.resource.group_id or not number.isdecimal():
            raise RefusedError(f"object {key!r} is no archive of this group; move it away, or choose another prefix")
        return _Version(int(number), f'"{found.tag}"')


@dataclass(frozen=True, slots=True)
class _Chosen:
    sources: Sequence[str]
    format: ArchiveFormat
    base: str
    """Name of its object, up to the hash or the extension."""
    begin: int
    end: int
    """Time of its folder, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class _Version:
    number: int
    tag: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """Files of an archive that stand in the next version, too."""

    sources: Sequence[Mapping[str, Any]]
    names: frozenset[str]


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
