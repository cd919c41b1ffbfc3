"""Aborts multipart uploads that nobody will complete. Unfinished uploads are invisible, but their parts are paid for.

What may be aborted (the argument is in docs/design/objects.md):

- An upload of a *key* that has just been stored by us: whoever began it wanted to write the same bytes.
- On taking over a partition, before anything of it is executed: uploads of that partition's objects of our own
  generation. They are of a process that died, or of a zombie whose commit will be refused.

Aborting an upload that is alive after all does no harm either: its owner finds that the upload is gone, and looks
whether the object is there or writes the range again. Nothing is ever decided by the age of an upload alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import structlog

from logpersister.storage.connection import Connection
from logpersister.storage.errors import StorageError
from logpersister.storage.object_requests import Requests

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Upload:
    """An unfinished multipart upload."""

    key: str
    id: str
    age: timedelta
    """By the clock of the storage."""


def abort(connection: Connection, requests: Requests, head: str, doomed: Callable[[Upload], bool]) -> Iterator[str]:
    """Abort the uploads that are `doomed`, of those whose keys begin with `head`; yields their keys.

    MinIO lists the uploads of one exact key, or with the empty `head` those begun since it was started, but none below
    a folder. What is left over there, it drops itself after a day.
    """
    for upload in _uploads(connection, head):
        if doomed(upload):
            requests.abort(upload.key, upload.id)
            log.info("upload.aborted", key=upload.key, age_seconds=round(upload.age.total_seconds()))
            yield upload.key


def abort_others(connection: Connection, requests: Requests, key: str, own: str) -> None:
    """Abort the uploads of exactly `key` other than `own`. Errors are logged only: the object itself is stored."""
    try:
        for _ in abort(connection, requests, key, lambda upload: upload.key == key and upload.id != own):
            pass
    except StorageError as error:
        log.warning("upload.sweep_failed", key=key, error=str(error))


def _uploads(connection: Connection, head: str) -> Iterator[Upload]:
    with connection.doing("listing unfinished uploads", head) as client:
        pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=connection.storage.bucket, Prefix=head)
        for page in pages:
            now = _server_time(page["ResponseMetadata"]["HTTPHeaders"])
            for item in page.get("Uploads", ()):
                # The server's date has whole seconds only, so a new upload may seem to come from the future.
                yield Upload(item["Key"], item["UploadId"], max(timedelta(0), now - item["Initiated"]))


def _server_time(headers: dict[str, str]) -> datetime:
    try:
        return parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError):
        return datetime.now(UTC)
