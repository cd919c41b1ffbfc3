"""Deletes many objects: a thousand in each request, or one by one where the storage does not know such requests."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import structlog

from logpersister.storage.connection import Connection
from logpersister.storage.errors import StorageError

log = structlog.get_logger()

MOST_DELETED = 1000
"""Objects that S3 deletes in one request."""
THREADS = 8
"""Requests at once where each deletes one object."""


def delete_objects(connection: Connection, keys: Sequence[str]) -> None:
    """Delete objects; those that are not there are fine. Raises StorageError."""
    for first in range(0, len(keys), MOST_DELETED):
        some = keys[first : first + MOST_DELETED]
        if connection.deletes_many:
            try:
                some = _delete_many(connection, some)
            except StorageError as error:
                if error.kind in ("unreachable", "timeout", "throttled", "missing-bucket"):
                    raise
                _delete_each(connection, some)  # what refuses these, too, is not about how many they are
                connection.deletes_many = False
                log.info("deletes.one_by_one", reason=str(error))
                continue
        _delete_each(connection, some)


def delete_object(connection: Connection, key: str) -> None:
    """Delete one object; one that is not there is fine. Raises StorageError."""
    with connection.doing("deleting an object", key) as client:
        client.delete_object(Bucket=connection.storage.bucket, Key=key)


def _delete_many(connection: Connection, keys: Sequence[str]) -> Sequence[str]:
    """Delete objects by one request; return the keys that failed; single requests tell why."""
    bucket = connection.storage.bucket
    with connection.doing("deleting objects", keys[0]) as client:
        answer = client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True})
    return [error["Key"] for error in answer.get("Errors", ()) if "Key" in error]


def _delete_each(connection: Connection, keys: Sequence[str]) -> None:
    if not keys:
        return
    with ThreadPoolExecutor(THREADS, thread_name_prefix="delete") as threads:
        for _ in threads.map(lambda key: delete_object(connection, key), keys):
            pass
