"""Removes what attempts to make an object have left: multipart uploads that nobody will complete, and their facts.

Unfinished uploads are invisible, but their parts are paid for. An upload is aborted only when its *key* has just been
stored by us: whoever began it wanted to write the same bytes. If it is alive after all, its owner finds that the upload
is gone and that the object is there. Nothing is ever decided by the age of an upload (docs/design/objects.md).

A facts document is deleted only when its attempt cannot make the object visible any more, and the object names another.
"""

from collections.abc import Iterator, Sequence

import structlog

from logpersister.storage.deleting import delete_object
from logpersister.storage.errors import StorageError
from logpersister.storage.names import is_attempt
from logpersister.storage.object_requests import Requests

log = structlog.get_logger()

_SUFFIX = ".json"


def sweep(requests: Requests, key: str, own: str, facts: str) -> None:
    """Abort the uploads of exactly `key` other than `own`; delete the facts documents that no object has any more.

    Errors are logged only: the object itself is stored.

    Args:
        own: id of our upload; empty for an object that came in one put.
        facts: what the names of the key's facts documents begin with; not looked at for an object in one put.
    """
    try:
        # Listed first: who has put one of these had begun its upload before, and that is ended below.
        documents = list(_documents(requests, facts)) if own else []
        for upload in requests.listed("listing unfinished uploads", key, "Uploads"):
            if upload["Key"] == key and upload["UploadId"] != own:
                requests.abort(key, upload["UploadId"])
                log.info("upload.aborted", key=key)
        if len(documents) > 1:
            _drop(requests, key, documents)
    except StorageError as error:
        log.warning("upload.sweep_failed", key=key, error=str(error))


def drop_facts(requests: Requests, key: str, document: str) -> None:
    """Delete the facts document of an attempt whose upload has ended, unless the object `key` is of that attempt."""
    try:
        _drop(requests, key, [document])
    except StorageError as error:
        log.warning("facts.not_deleted", key=key, error=str(error))


def _drop(requests: Requests, key: str, documents: Sequence[str]) -> None:
    found = requests.head(key)
    if found is None:
        return
    current = found[1].get("facts", "-")
    for document in documents:
        if not document.endswith(f".{current}{_SUFFIX}"):
            delete_object(requests.connection, document)


def _documents(requests: Requests, facts: str) -> Iterator[str]:
    """Yield the names of the facts documents of one key: others may begin likewise."""
    for item in requests.listed("listing facts", facts):
        if is_attempt(item["Key"][len(facts) :].removesuffix(_SUFFIX)):
            yield item["Key"]
