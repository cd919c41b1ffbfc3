"""Compares archives of finished folders with those of the copies of a store."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from typing import Final

from logpersister.finish.archive_versions import NUMBER
from logpersister.finish.folders import existing_folders
from logpersister.manifest.blocks.finish import ARCHIVE
from logpersister.ranges import TopicPartition
from logpersister.records.escaping import ARCHIVES
from logpersister.records.type_folders import AnyFolders
from logpersister.storage import names
from logpersister.storage.copies import Copy
from logpersister.storage.finished import folder_content
from logpersister.storage.imprint import Imprint
from logpersister.storage.store import ObjectStore
from logpersister.verify.findings import Finding, Kind

_ALWAYS: Final = 1 << 62
_SAID: Final = ("group", NUMBER, "hash")
"""Metadata that an archive has in all stores."""
_REMEDY: Final = "logpersister finish with --from and --to copies what is missing"

Using = Callable[[Copy], AbstractContextManager[ObjectStore]]
"""Gives the store of a copy; what its errors inside become is for the caller to say."""


def copy_findings(
    store: ObjectStore, group: str, topic: str, layout: AnyFolders, copy: Copy, using: Using, *, deep: bool
) -> Iterator[Finding]:
    """Yield what a copy lacks, or has otherwise. Raises StorageError for the store itself.

    Only folders that count as archived are looked at: the copies of others may still be made.

    Args:
        deep: whether contents are compared, and not only what the stores say of them.
    """
    for folder in existing_folders(store, topic, layout, after=None, until=_ALWAYS, below=f"{ARCHIVES}/"):
        noted = folder_content(store, group, topic, folder.path)
        if noted is None or noted[0].told.get(ARCHIVE, 0) < noted[0].number:
            continue
        for listed in store.list_objects(f"{names.topic_prefix(store.prefix, topic)}{ARCHIVES}/{folder.path}/"):
            own = store.imprint(listed.key)
            if own is None or own.metadata.get(NUMBER) != str(noted[0].number):
                continue
            digest = _digest(store, listed.key) if deep else b""
            key = names.head(copy.store.prefix) + listed.key.removeprefix(names.head(store.prefix))
            with using(copy) as there:
                told = _difference(own, there.imprint(key))
                if told is None and deep and digest != _digest(there, key):
                    told = "has another content"
            if told is not None:
                message = f"{copy} {told}; {_REMEDY}"
                yield Finding(Kind.NOT_COPIED, TopicPartition(topic, 0), 0, 0, message, listed.key)


def _difference(own: Imprint, copied: Imprint | None) -> str | None:
    """Return how an archive differs in a copy, by what the stores say of it."""
    if copied is None:
        return "lacks the archive"
    for name in _SAID:
        mine, other = own.metadata.get(name), copied.metadata.get(name)
        if mine != other:
            return f"has an archive of another {name} ({other} instead of {mine})"
    return None if own.size == copied.size else f"has an archive of {copied.size} bytes instead of {own.size}"


def _digest(store: ObjectStore, key: str) -> bytes:
    found = hashlib.sha256()
    with closing(store.read(key)) as pieces:
        for piece in pieces:
            found.update(piece)
    return found.digest()
