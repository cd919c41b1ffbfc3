"""Removes what attempts to make an object have left: multipart uploads that nobody will complete, and their facts.

Unfinished uploads are invisible, but their parts are paid for. An upload is aborted only when its *key* has just been
stored by us: whoever began it wanted to write the same bytes. If it is alive after all, its owner finds that the upload
is gone and that the object is there. Nothing is ever decided by the age of an upload (docs/design/objects.md).

A facts document is deleted only when its attempt cannot make the object visible any more, and the object names another.
"""

from collections.abc import Iterator, Sequence

import structlog

from logpersister.storage.connection import Connection
from logpersister.storage.errors import StorageError
from logpersister.storage.names import is_attempt
from logpersister.storage.object_requests import Requests

log = structlog.get_logger()

_SUFFIX = ".json"


def sweep(connection: Connection, requests: Requests, key: str, own: str, facts: str) -> None:
    """Abort the uploads of exactly `key` other than `own`; delete the facts documents that no object has any more.

    Errors are logged only: the object itself is stored.

    Args:
        own: id of our upload; empty for an object that came in one put.
        facts: what the names of the key's facts documents begin with; not looked at for an object in one put.
    """
    try:
        # Listed first: who has put one of these had begun its upload before, and that is ended below.
        documents = list(_documents(connection, facts)) if own else []
        for upload in _uploads(connection, key):
            if upload != own:
                requests.abort(key, upload)
                log.info("upload.aborted", key=key)
        if len(documents) > 1:
            _drop(connection, requests, key, documents)
    except StorageError as error:
        log.warning("upload.sweep_failed", key=key, error=str(error))


def drop_facts(connection: Connection, requests: Requests, key: str, document: str) -> None:
    """Delete the facts document of an attempt whose upload has ended, unless the object `key` is of that attempt."""
    try:
        _drop(connection, requests, key, [document])
    except StorageError as error:
        log.warning("facts.not_deleted", key=key, error=str(error))


def _drop(connection: Connection, requests: Requests, key: str, documents: Sequence[str]) -> None:
    found = requests.head(key)
    if found is None:
        return
    current = found[1].get("facts", "-")
    for document in documents:
        if not document.endswith(f".{current}{_SUFFIX}"):
            with connection.doing("deleting facts", document) as client:
                client.delete_object(Bucket=connection.storage.bucket, Key=document)


def _documents(connection: Connection, facts: str) -> Iterator[str]:
    """Yield the names of the facts documents of one key: others may begin likewise."""
    with connection.doing("listing facts", facts) as client:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=connection.storage.bucket, Prefix=facts)
        for page in pages:
            for item in page.get("Contents", ()):
                if is_attempt(item["Key"][len(facts) :].removesuffix(_SUFFIX)):
                    yield item["Key"]


def _uploads(connection: Connection, key: str) -> Iterator[str]:
    with connection.doing("listing unfinished uploads", key) as client:
        pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=connection.storage.bucket, Prefix=key)
        for page in pages:
            yield from (item["UploadId"] for item in page.get("Uploads", ()) if item["Key"] == key)
