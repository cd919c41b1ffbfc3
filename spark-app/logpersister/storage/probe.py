"""Finds out, within a deadline, whether a bucket can be used: reached, listed, written."""

import socket
import ssl
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from logpersister.manifest.secrets import AwsKeys
from logpersister.manifest.storage import StorageSpec
from logpersister.storage import names
from logpersister.storage.connection import Connection, Timeouts
from logpersister.storage.errors import PLAIN_SERVER, TLS_SERVER, Place, StorageError
from logpersister.storage.object_requests import encryption_arguments

PAUSE = 0.5
"""Seconds between attempts."""


def check(
    storage: StorageSpec,
    credentials: Callable[[], AwsKeys | None],
    authority: Callable[[], str | None],
    key: str,
    deadline: float,
) -> None:
    """List one object, then put and delete a tiny object `key`; raises StorageError.

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
            if error.code in (PLAIN_SERVER, TLS_SERVER) or not error.retriable or time.monotonic() + PAUSE >= until:
                raise
        time.sleep(PAUSE)


def _use(connection: Connection, key: str) -> None:
    storage = connection.storage
    # A listing and no HEAD, whose answer has no body: it would say 403, and not which key is wrong.
    try:
        with connection.doing("listing the bucket") as client:
            client.list_objects_v2(Bucket=storage.bucket, Prefix=names.head(storage.prefix), MaxKeys=1)
    except StorageError as error:
        if error.kind == "unreachable" and _speaks_tls(storage.endpoint or ""):
            raise _wants_tls(storage) from None
        raise
    with connection.doing("putting a probe that shows whether the bucket can be written", key) as client:
        client.put_object(Bucket=storage.bucket, Key=key, Body=b"", **encryption_arguments(storage))
    with connection.doing("deleting the probe", key) as client:
        client.delete_object(Bucket=storage.bucket, Key=key)


def _speaks_tls(endpoint: str) -> bool:
    """Whether a plain endpoint has ended our connection because it wants TLS."""
    url = urlsplit(endpoint)
    if url.scheme != "http" or url.hostname is None:
        return False
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE  # nothing is sent: it only greets
    try:
        with socket.create_connection((url.hostname, url.port or 80), timeout=2) as connection:
            anybody.wrap_socket(connection).close()
    except OSError:
        return False
    return True


def _wants_tls(storage: StorageSpec) -> StorageError:
    place = Place(storage.endpoint or "", storage.bucket)
    return place.failure(
        "unreachable", TLS_SERVER, "the endpoint is http, and the server there speaks TLS only", "listing the bucket"
    )
