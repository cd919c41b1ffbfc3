"""The versions of one archive in a store: by number, so that a lower one never replaces a higher one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from logpersister.finish.telling import NotTakenError, RefusedError
from logpersister.storage import names
from logpersister.storage.finished import FolderContent
from logpersister.storage.imprint import Imprint
from logpersister.storage.store import ObjectStore, ObjectWriter

NUMBER: Final = "number"
"""Metadata of an archive: which number of its folder it is of."""


@dataclass(frozen=True, slots=True)
class Version:
    """An archive that is there."""

    number: int
    imprint: Imprint


Versions = Mapping[str, Version]
"""By their names."""


def base_of(store: ObjectStore, content: FolderContent, file: str) -> str:
    """Return what the names of all versions begin with. Raises RefusedError where a storage does not take it."""
    try:
        return names.archive_key(store.prefix, content.topic, content.path, file)
    except ValueError as error:
        raise RefusedError(
            f"folder {content.path} of topic {content.topic}: its archive has no name: {error}"
        ) from None


def versions_of(store: ObjectStore, group: str, base: str) -> Versions:
    """Return the versions that are there. Raises StorageError; RefusedError for objects of others."""
    listed = [one.key for one in store.list_objects(base)]
    return {key: one for key in listed if (one := _version(store, group, key)) is not None}


def _version(store: ObjectStore, group: str, key: str) -> Version | None:
    """Return which number an archive is of; None: it was deleted a moment ago."""
    found = store.imprint(key)
    if found is None:
        return None
    number = found.metadata.get(NUMBER, "")
    if found.metadata.get("group") != group or not number.isdecimal():
        raise RefusedError(f"object {key!r} is no archive of this group; move it away, or choose another prefix")
    return Version(int(number), found)


def newest_of(versions: Versions) -> str | None:
    """Return the name of the version with the highest number."""
    return max(versions, key=lambda key: versions[key].number, default=None)


def delete_before(store: ObjectStore, versions: Versions, number: int) -> None:
    """Delete versions with lower numbers: perhaps who made the newest one was stopped before. Raises StorageError."""
    store.delete_all([key for key, one in versions.items() if one.number < number])


def put(
    store: ObjectStore,
    key: str,
    metadata: Mapping[str, str],
    content_type: str,
    before: Version | None,
    fill: Callable[[ObjectWriter], None],
) -> None:
    """Put an archive in the place of a version, or of none. Raises NotTakenError, StorageError, and as `fill`."""
    tag = None if before is None else f'"{before.imprint.tag}"'
    writer = store.writer(
        key, metadata, content_type=content_type, if_absent=tag is None, replaces=tag, sweep=tag is not None
    )
    try:
        fill(writer)
        stored = writer.finish({})
    except BaseException:
        writer.abort()
        raise
    if stored.existing:
        raise NotTakenError(f"archive {key!r} is being made by another process")
