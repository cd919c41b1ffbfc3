"""Finds out, within a deadline, whether a bucket can be used: reached, listed, written as the guarantees assume."""

import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from urllib.parse import urlsplit

from logpersister.aside import in_a_thread
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import AwsKeys
from logpersister.storage import names
from logpersister.storage.connection import Connection, Timeouts
from logpersister.storage.errors import PLAIN_SERVER, TLS_SERVER, Place, StorageError
from logpersister.storage.object_requests import new_attempt
from logpersister.storage.properties import prove

PAUSE = 0.5
"""Seconds between attempts."""


def check(
    storage: StorageSpec,
    credentials: Callable[[], AwsKeys | None],
    authority: Callable[[], str | None],
    group: str,
    deadline: float,
) -> list[str]:
    """List one object, then prove on a tiny object what is assumed of the storage; raises StorageError.

    Returns in words what the storage lacks without harm.
    What may pass by itself is tried again until the deadline, for a storage that starts at the same time as we do.
    It runs in a thread of its own, because neither name resolution nor every source of credentials has a time-out.
    """
    until = time.monotonic() + deadline
    patience = Timeouts(connect=max(0.5, deadline / 3), read=max(0.5, deadline / 3), attempts=1)
    latest: list[StorageError] = []

    def connect(spec: StorageSpec) -> Connection:
        return Connection(spec, credentials, authority, on_retry=lambda _: None, timeouts=patience, connections=1)

    connection = connect(storage)

    reached = threading.Event()

    def reach(tried: Connection) -> None:
        _list(tried)
        reached.set()

    def use() -> list[str]:
        return prove(connection, names.probe_key(storage.prefix, group, new_attempt()), connect, reach, latest.append)

    def work() -> list[str]:
        try:
            return _try_until(until, use, latest)
        finally:
            connection.close()

    answer = in_a_thread(work, deadline)
    if reached.is_set():
        wait([answer], deadline)  # it answers, if slowly
    if answer.done():
        return answer.result()
    silent = TimeoutError(f"no answer within {deadline:g} s")
    place = Place(storage.endpoint or "AWS S3", storage.bucket)
    raise latest[-1] if latest else place.error("checking the bucket", None, silent)


def _try_until(until: float, use: Callable[[], list[str]], latest: list[StorageError]) -> list[str]:
    while True:
        try:
            return use()
        except StorageError as error:
            latest.append(error)
            if error.code in (PLAIN_SERVER, TLS_SERVER) or not error.retriable or time.monotonic() + PAUSE >= until:
                raise
        time.sleep(PAUSE)


def _list(connection: Connection) -> None:
    storage = connection.storage
    # A listing and no HEAD, whose answer has no body: it would say 403, and not which key is wrong.
    try:
        with connection.doing("listing the bucket") as client:
            client.list_objects_v2(Bucket=storage.bucket, Prefix=names.head(storage.prefix), MaxKeys=1)
    except StorageError as error:
        if error.kind == "unreachable" and _speaks_tls(storage.endpoint or ""):
            raise _wants_tls(storage) from None
        raise


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
