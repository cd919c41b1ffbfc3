"""Finds out, within a deadline, whether a bucket can be used: reached, listed, written."""

import threading
import time
from collections.abc import Callable

from logpersister.manifest.secrets import StorageCredentials
from logpersister.manifest.storage import StorageSpec
from logpersister.storage.connection import Connection, Timeouts
from logpersister.storage.errors import Place, StorageError
from logpersister.storage.object_requests import encryption_arguments

PAUSE = 0.5
"""Seconds between attempts."""


def check(
    storage: StorageSpec,
    credentials: Callable[[], StorageCredentials | None],
    authority: Callable[[], str | None],
    key: str,
    deadline: float,
) -> None:
    """Head the bucket, then put and delete a tiny object `key`; raises StorageError.

    What may pass by itself is tried again until the deadline, for a storage that starts at the same time as we do.
    It runs in a thread of its own, because neither name resolution nor every source of credentials has a time-out.
    """
    until = time.monotonic() + deadline
    patience = Timeouts(connect=max(0.5, deadline / 3), read=max(0.5, deadline / 3), attempts=1)
    connection = Connection(storage, credentials, authority, on_retry=lambda _: None, timeouts=patience, connections=1)
    outcome: list[Exception | None] = []
    latest: list[StorageError] = []

    def work() -> None:
        try:
            _try_until(until, lambda: _use(connection, key), latest)
            outcome.append(None)
        except Exception as error:  # noqa: BLE001 - handed over to the thread that waits
            outcome.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=work, name="check-bucket", daemon=True)
    thread.start()
    thread.join(deadline)
    if outcome and outcome[0] is None:
        return
    if outcome and outcome[0] is not None:
        raise outcome[0]
    silent = TimeoutError(f"no answer within {deadline:g} s")
    place = Place(storage.endpoint or "AWS S3", storage.bucket)
    raise latest[-1] if latest else place.error("checking the bucket", None, silent)


def _try_until(until: float, use: Callable[[], None], latest: list[StorageError]) -> None:
    while True:
        try:
            return use()
        except StorageError as error:
            latest.append(error)
            if not error.retriable or time.monotonic() + PAUSE >= until:
                raise
        time.sleep(PAUSE)


def _use(connection: Connection, key: str) -> None:
    storage = connection.storage
    with connection.doing("looking for the bucket") as client:
        client.head_bucket(Bucket=storage.bucket)
    with connection.doing("putting a probe that shows whether the bucket can be written", key) as client:
        client.put_object(Bucket=storage.bucket, Key=key, Body=b"", **encryption_arguments(storage))
    with connection.doing("deleting the probe", key) as client:
        client.delete_object(Bucket=storage.bucket, Key=key)
