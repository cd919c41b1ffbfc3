"""Aborts multipart uploads that nobody will complete. Unfinished uploads are invisible, but their parts are paid for.

An upload is aborted only when its *key* has just been stored by us: whoever began it wanted to write the same bytes. If
it is alive after all, its owner finds that the upload is gone and that the object is there. Nothing is ever decided by
the age of an upload (docs/design/objects.md).
"""

from collections.abc import Iterator

import structlog

from logpersister.storage.connection import Connection
from logpersister.storage.errors import StorageError
from logpersister.storage.object_requests import Requests

log = structlog.get_logger()


def abort_others(connection: Connection, requests: Requests, key: str, own: str) -> None:
    """Abort the uploads of exactly `key` other than `own`. Errors are logged only: the object itself is stored."""
    try:
        for upload in _uploads(connection, key):
            if upload != own:
                requests.abort(key, upload)
                log.info("upload.aborted", key=key)
    except StorageError as error:
        log.warning("upload.sweep_failed", key=key, error=str(error))


def _uploads(connection: Connection, key: str) -> Iterator[str]:
    """Yield the ids of the unfinished uploads of exactly this key."""
    with connection.doing("listing unfinished uploads", key) as client:
        pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=connection.storage.bucket, Prefix=key)
        for page in pages:
            yield from (item["UploadId"] for item in page.get("Uploads", ()) if item["Key"] == key)
