"""Makes one archive of each finished folder: a recipient of `finish.telling` (docs/design/archives.md).

An archive is of one number of a folder, whose note lists the objects. So whoever makes it makes the same files, and it
may be made again at any time. It is put by compare-and-set on the version that was there, which has a lower number: a
process that has slept meanwhile takes nothing back.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from logpersister.finish.telling import Message, NotTakenError, RefusedError, Send
from logpersister.finish.watermark import at
from logpersister.formats.archive.consolidation import Consolidation, Files, hash_of
from logpersister.formats.archive.entries import Entry, seconds_of
from logpersister.formats.archive.read import compression_of, entries_in
from logpersister.formats.archive.write import ArchiveFormat, consolidated
from logpersister.formats.compression import compressor
from logpersister.formats.damage import ContentError
from logpersister.manifest import LogPersister
from logpersister.manifest.spec import Spec
from logpersister.records.escaping import escape
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
            chosen, made = self._chosen(content), Consolidation()
            for key in chosen.sources:
                made.add_source(self._entries(key))
            files = made.files()
            names_ = [name for of_record in files.values() for name, _ in of_record]
            hash_ = hash_of(names_)
            manifest = {
                "topic": content.topic,
                "folder": content.path,
                "begin": at(chosen.begin),
                "end": content.end,
                "number": content.number,
                "hash": hash_,
                "files": len(names_),
                "replicas": made.replicas(),
                "missing": missing(content, losses),
                "sources": [{"name": one.name, "records": one.records} for one in content.objects],
            }
            self._put(chosen, content, hash_, manifest, files)
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
        return _Chosen(
            [root + one.name for one in content.objects],
            ArchiveFormat(spec.output.archive),
            names.archive_key(self.store.prefix, content.topic, content.path, base),
            begin,
            folder.end,
        )

    def _entries(self, key: str) -> Iterator[Entry]:
        with closing(self.store.read(key)) as pieces:
            yield from entries_in(compression_of(key) or "none", pieces)

    def _put(
        self, chosen: "_Chosen", content: FolderContent, hash_: str, manifest: Mapping[str, Any], files: Files
    ) -> None:
        key = chosen.base + (f"_{hash_}" if chosen.format.settings.naming == "hashed" else "") + chosen.format.extension
        before = {listed.key: self._version(listed.key) for listed in self.store.list_objects(chosen.base)}
        newest = max((number for number, _ in before.values()), default=0)
        if newest >= content.number:  # deleted here, too: perhaps who made it was stopped before
            self.store.delete_all([other for other, (number, _) in before.items() if number < newest])
            return
        metadata = {"group": self.resource.group_id, NUMBER: str(content.number), "hash": hash_}
        tag = before[key][1] if key in before else None
        writer = self.store.writer(
            key, metadata, content_type=chosen.format.content_type, if_absent=tag is None, replaces=tag, sweep=bool(tag)
        )
        stream = compressor(chosen.format.settings.compression)
        try:
            sources = map(self._entries, chosen.sources)
            for piece in consolidated(manifest, seconds_of(chosen.end), files, sources):
                for ready in stream.write(piece):
                    writer.write(ready)
            for ready in stream.finish():
                writer.write(ready)
            stored = writer.finish({"files": str(manifest["files"])})
        except BaseException:
            writer.abort()
            raise
        if stored.existing:
            raise NotTakenError(f"archive {key!r} is being made by another process")
        self.store.delete_all([other for other in before if other != key])
        log.info("folder.archived", topic=content.topic, folder=content.path, number=content.number, key=key)

    def _version(self, key: str) -> tuple[int, str | None]:
        """Return the number that an archive is of, and its entity tag. Raises RefusedError for one of others."""
        found = self.store.imprint(key)
        if found is None:
            return 0, None
        number = found.metadata.get(NUMBER, "")
        if found.metadata.get("group") != self.resource.group_id or not number.isdecimal():
            raise RefusedError(f"object {key!r} is no archive of this group; move it away, or choose another prefix")
        return int(number), f'"{found.tag}"'


@dataclass(frozen=True, slots=True)
class _Chosen:
    """An archive that is to be made."""

    sources: Sequence[str]
    format: ArchiveFormat
    base: str
    """Name of its object, up to the hash or the extension."""
    begin: int
    end: int
    """Time of its folder, in milliseconds since the epoch."""


def label_of(spec: Spec, topic: str, folder: TimeFolder, above: int) -> str:
    """Return what names of archives of a folder begin with: the values of the levels above the date, or the topic."""
    levels = zip(folder.path.split("/")[:above], spec.output.partition_by, strict=False)
    return "_".join(segment.removeprefix(level.folder_prefix) for segment, level in levels) or escape(topic)


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
