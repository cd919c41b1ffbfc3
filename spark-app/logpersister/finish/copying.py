"""Gives the copies of a store the archives of finished folders (docs/design/archives.md#copies).

A copy gets the bytes that the primary store has, by number and compare-and-set as there. So whoever repeats it changes
nothing, and a process that has slept meanwhile takes nothing back.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from logpersister.finish.archive_versions import NUMBER, base_of, delete_before, newest_of, put, versions_of
from logpersister.finish.telling import DelayedError, NotTakenError
from logpersister.formats.archive.read import compression_of
from logpersister.formats.compression import CONTENT_TYPES
from logpersister.storage.copies import Copy
from logpersister.storage.errors import StorageError
from logpersister.storage.finished import FolderContent
from logpersister.storage.imprint import Imprint
from logpersister.storage.store import ObjectStore, ObjectWriter

log = structlog.get_logger(__name__)

_OF_ONE_OBJECT: Final = frozenset({"rejected", "damaged"})
"""Kinds of errors that say nothing of the copy's other objects."""
_METADATA: Final = ("group", NUMBER, "hash")
_TAR: Final = "application/x-tar"


class CopyError(DelayedError):
    """A copy could not be used; the message names it."""


@contextmanager
def using(copy: Copy) -> Iterator[None]:
    """Turn errors of a copy into CopyError."""
    try:
        with copy.named():
            yield
    except StorageError as error:
        raise CopyError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Copying:
    """Copies archives of a group one after the other; a copy that is away is asked once."""

    store: ObjectStore
    group: str
    copies: Sequence[Copy]
    _away: dict[int, CopyError] = field(default_factory=dict)

    def newest(self, content: FolderContent, file: str) -> tuple[Copy, str] | None:
        """Return the copy with the newest archive of a folder, and its name. Raises CopyError, RefusedError.

        Args:
            file: name of the archive, up to the hash or the extension.
        """
        found: list[tuple[int, Copy, str]] = []
        for copy in self.copies:
            with using(copy):
                versions = versions_of(copy.store, self.group, base_of(copy.store, content, file))
            found += [(one.number, copy, key) for key, one in versions.items()]
        newest = max(found, key=lambda one: one[0], default=None)
        return newest and newest[1:]

    def copy(self, content: FolderContent, file: str) -> None:
        """Give all copies the newest archive of a folder. Arguments as of `newest`.

        Raises StorageError for the primary store, NotTakenError, RefusedError; CopyError when the other copies have it.
        """
        base = base_of(self.store, content, file)
        versions = versions_of(self.store, self.group, base)
        key = newest_of(versions)
        if key is None:
            return  # all of the folder was deleted
        failures: list[CopyError] = []
        for copy in self.copies:
            try:
                self._copy(copy, content, file, key, versions[key].number, versions[key].imprint)
            except CopyError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _copy(self, copy: Copy, content: FolderContent, file: str, key: str, number: int, imprint: Imprint) -> None:
        if copy.number in self._away:
            raise self._away[copy.number]
        try:
            with using(copy):
                base = base_of(copy.store, content, file)
                there = versions_of(copy.store, self.group, base)
                if max((one.number for one in there.values()), default=0) >= number:
                    delete_before(copy.store, there, number)
                else:
                    to = base + key.removeprefix(base_of(self.store, content, file))
                    content_type = CONTENT_TYPES.get(compression_of(key) or "none", _TAR)
                    own = {name: imprint.metadata[name] for name in _METADATA if name in imprint.metadata}
                    fill = partial(self._fill, key, imprint)
                    put(copy.store, to, own, content_type, there.get(to), fill)
                    log.info("folder.copied", topic=content.topic, folder=content.path, number=number, copy=str(copy))
                    copy.store.delete_all([other for other in there if other != to])
        except CopyError as error:
            if isinstance(error.__cause__, StorageError) and error.__cause__.kind not in _OF_ONE_OBJECT:
                self._away[copy.number] = error
            raise

    def _fill(self, key: str, imprint: Imprint, writer: ObjectWriter) -> None:
        """Write what the primary store has. Raises NotTakenError, also where that is not what it says of it."""

        def written() -> Iterator[bytes]:
            with closing(self.store.read(key)) as pieces:
                while (piece := self._next(pieces, key)) is not None:
                    writer.write(piece)
                    yield piece

        if not imprint.is_of(written()):
            raise NotTakenError(f"archive {key!r} was replaced while it was read, or is damaged")

    @staticmethod
    def _next(pieces: Iterator[bytes], key: str) -> bytes | None:
        try:
            return next(pieces, None)
        except StorageError as error:  # of the primary store, not of the copy
            raise NotTakenError(f"archive {key!r} cannot be read: {error}") from error
