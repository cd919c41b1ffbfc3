"""Snapshots of revisions in the bucket: what a member needs to finish an intent of another revision as written."""

from collections.abc import Mapping
from typing import Any

import structlog

from logpersister.storage.errors import REFUSALS, StorageError
from logpersister.storage.names import revision_key
from logpersister.storage.store import ObjectStore

log = structlog.get_logger(__name__)


def put_revision(store: ObjectStore, group: str, revision: str, document: Mapping[str, Any]) -> None:
    """Store the snapshot of a revision before its first intent; one that is there already is compared.

    One that cannot be read (a lifecycle rule has moved it to an archive) is put again: its name is its content.
    Raises StorageError, of kind ``damaged`` when another document stands under the same hash.
    """
    key = revision_key(store.prefix, group, revision)
    try:
        stored = get_revision(store, group, revision)
    except StorageError as error:
        if error.kind not in REFUSALS:
            raise
        log.warning("revision.unreadable", key=key, error=str(error))
        stored = None
    if stored is None:
        store.put_json(key, document)
    elif stored != document:
        raise StorageError(
            "damaged",
            f"bucket {store.storage.bucket!r}, object {key!r}: another document stands under the hash of revision "
            f"{revision}; somebody changed it: restore it from a version of the object or from a backup",
        )


def get_revision(store: ObjectStore, group: str, revision: str) -> dict[str, Any] | None:
    """Return the snapshot of a revision, or None when there is none. Raises StorageError."""
    return store.get_json(revision_key(store.prefix, group, revision))
